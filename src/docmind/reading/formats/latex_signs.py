"""The names of signs in LaTeX: one table, read from names to signs for web pages and from signs to names for Word."""

from __future__ import annotations


def _pairs(text: str) -> dict[str, str]:
    return {name: sign for name, _equals, sign in (pair.partition("=") for pair in text.split())}


_NAMES = _pairs("""
alpha=α beta=β gamma=γ delta=δ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ lambda=λ mu=μ nu=ν xi=ξ
pi=π rho=ρ sigma=σ tau=τ upsilon=υ varphi=φ chi=χ psi=ψ omega=ω Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ
Phi=Φ Psi=Ψ Omega=Ω times=× cdot=· div=÷ pm=± mp=∓ le=≤ ge=≥ ne=≠ approx=≈ equiv=≡ propto=∝ infty=∞ partial=∂
nabla=∇ sum=∑ prod=∏ int=∫ oint=∮ in=∈ notin=∉ subset=⊂ subseteq=⊆ cup=∪ cap=∩ emptyset=∅ forall=∀ exists=∃ to=→
leftarrow=← Rightarrow=⇒ Leftrightarrow=⇔ ldots=… prime=′ ell=ℓ hbar=ℏ neg=¬ wedge=∧ vee=∨ langle=⟨ rangle=⟩
lfloor=⌊ rfloor=⌋ lceil=⌈ rceil=⌉ parallel=∥ perp=⊥ angle=∠ oplus=⊕ otimes=⊗ ll=≪ gg=≫
varsigma=ς varpi=ϖ varrho=ϱ Upsilon=Υ surd=√ leftrightarrow=↔ Leftarrow=⇐ mapsto=↦ Vert=‖
""")
_OTHER_NAMES = _pairs("""
epsilon=ε phi=φ leq=≤ geq=≥ neq=≠ sim=~ rightarrow=→ implies=⇒ iff=⇔ cdots=… dots=… vdots=… degree=° circ=° land=∧
lor=∨ mid=| star=⋆ ast=* setminus=∖ Re=ℜ Im=ℑ aleph=ℵ
""")
SIGNS = _NAMES | _OTHER_NAMES
"""The sign of each name."""

COMMANDS = {sign: name for name, sign in _NAMES.items()} | {
    "ϵ": "epsilon",
    "ϕ": "phi",
    "⋅": "cdot",
    "∼": "sim",
    "⋯": "cdots",
    "∘": "circ",
    "∗": "ast",
}
"""The name of each sign of an equation of Word; a name that is another sign on web pages stands here for its own."""
