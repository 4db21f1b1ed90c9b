"""An article in JATS XML, with what such articles have."""

# ruff: noqa: E501 - lines of XML

ARTICLE = r"""<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Archiving DTD v1.2//EN" "JATS-archivearticle1.dtd">
<article xmlns:xlink="http://www.w3.org/1999/xlink" xmlns:mml="http://www.w3.org/1998/Math/MathML" article-type="research-article">
<front><journal-meta><journal-id>PLoS One</journal-id><journal-title-group><journal-title>PLoS ONE</journal-title></journal-title-group></journal-meta>
<article-meta><article-id pub-id-type="pmid">123</article-id><article-id pub-id-type="doi">10.1371/x.1</article-id>
<title-group><article-title>Otters &amp; ponds in <italic>H<sub>2</sub>O</italic></article-title><subtitle>A study</subtitle></title-group>
<contrib-group><contrib contrib-type="author"><name><surname>Lopez</surname><given-names>Ann M.</given-names></name><xref ref-type="aff" rid="a1"><sup>1</sup></xref></contrib>
<contrib contrib-type="author"><collab>Otter Group</collab></contrib><contrib contrib-type="editor"><name><surname>Ed</surname><given-names>X</given-names></name></contrib></contrib-group>
<aff id="a1"><label>1</label><institution>Pond University</institution>, Lisbon</aff>
<pub-date pub-type="collection"><year>2020</year></pub-date><pub-date pub-type="epub"><day>3</day><month>5</month><year>2020</year></pub-date>
<volume>15</volume><issue>5</issue><fpage>e1</fpage><lpage>e9</lpage>
<abstract><sec><title>Background</title><p>Otters eat fish.</p></sec><sec><title>Results</title><p>Many&nbsp;fish.</p></sec></abstract>
<kwd-group><kwd>otter</kwd><kwd>pond</kwd></kwd-group></article-meta></front>
<body><sec id="s1"><label>1</label><title>Introduction</title><p>As shown<sup><xref ref-type="bibr" rid="b1">1</xref></sup> and [<xref ref-type="bibr" rid="b2">2</xref>], x<sup>2</sup> is 10<sup>−3</sup><fn><label>a</label><p>Not always.</p></fn>.
<list list-type="order"><list-item><p>First</p><list list-type="bullet"><list-item><p>inner</p></list-item></list></list-item><list-item><p>Second</p></list-item></list>after the list.</p>
<sec><title>Sub</title><p>Energy <inline-formula><mml:math><mml:mi>E</mml:mi><mml:mo>=</mml:mo><mml:mi>m</mml:mi><mml:msup><mml:mi>c</mml:mi><mml:mn>2</mml:mn></mml:msup></mml:math></inline-formula> holds.</p>
<disp-formula id="e1"><label>(1)</label><alternatives><tex-math>\documentclass{a}\begin{document}$$\frac{a}{b}=c$$\end{document}</tex-math><mml:math><mml:mfrac><mml:mi>a</mml:mi><mml:mi>b</mml:mi></mml:mfrac><mml:mo>=</mml:mo><mml:mi>c</mml:mi></mml:math></alternatives></disp-formula></sec>
<table-wrap id="t1"><label>Table 1</label><caption><title>Counts</title><p>By pond.</p></caption><table><thead><tr><th rowspan="2">Pond</th><th colspan="2">Otters</th></tr><tr><th>2019</th><th>2020</th></tr></thead><tbody><tr><td>North</td><td>12</td><td>15<xref ref-type="table-fn" rid="f1"><sup>*</sup></xref></td></tr></tbody></table><table-wrap-foot><fn id="f1"><label>*</label><p>By night.</p></fn></table-wrap-foot></table-wrap>
<fig id="f2"><label>Figure 1</label><caption><p>Map of the pond.</p></caption><alt-text>A map</alt-text><graphic xlink:href="g1"/></fig>
<p>Boxed <boxed-text><p>Tip inside.</p></boxed-text></p></sec></body>
<back><ack><p>We thank the otters.</p></ack><ref-list><title>References</title>
<ref id="b1"><label>1</label><mixed-citation><name><surname>Ng</surname>, <given-names>B</given-names></name>. (<year>2001</year>). Fish. <source>J Pond</source> 3: 4–5.</mixed-citation></ref>
<ref id="b2"><label>2</label><element-citation publication-type="journal"><person-group><name><surname>Silva</surname><given-names>C</given-names></name></person-group><article-title>Crabs</article-title><source>J Sea</source><year>1999</year><volume>7</volume><issue>2</issue><fpage>10</fpage><lpage>19</lpage><pub-id pub-id-type="doi">10.1/z</pub-id></element-citation></ref></ref-list></back></article>
"""
