"""All runs of a set over time, as a chart: nDCG with its interval, recall and MRR, and the bound of nDCG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import streamlit as st

from docmind.records.evaluation import Metric, RunSummary
from docmind.ui.app.format import when
from docmind.ui.evaluation.figures import LEAST_NDCG, metric_name, value
from docmind.wording import _

_SHOWN: dict[Metric, tuple[str, str]] = {
    "ndcg": ("#25827b", "circle"),
    "recall": ("#a8691a", "square"),
    "mrr": ("#8a63c9", "diamond"),
}
"""The metrics that the chart shows: colours of 3:1 or more on the papers of both themes, and the shapes of points."""

_ALARM = "#d04437"
_HEIGHT = 260


def draw(runs: Sequence[RunSummary]) -> None:
    """Draw the runs of one set, the oldest first; nothing for fewer than two."""
    if len(runs) < 2:
        return
    st.subheader(_("Over time"), anchor=False)
    with st.container(key="evaluation-over-time"):
        st.vega_lite_chart(chart(runs), width="stretch", height=_HEIGHT)
    st.caption(
        _("Bars: the interval of {metric}. Dashed line: {bound}, below which a run is marked with a ring.").format(
            metric=metric_name("ndcg"), bound=value(LEAST_NDCG)
        )
    )


def _is_low(run: RunSummary) -> bool:
    return "ndcg" in run.figures and run.figures["ndcg"].mean < LEAST_NDCG


def chart(runs: Sequence[RunSummary]) -> dict[str, Any]:
    """Return the chart in Vega-Lite; it has its data inside, and loads nothing.

    Screen readers are told the points alone.
    """
    points = [
        {
            "at": at,
            "when": when(run.made_at_ms),
            "metric": metric_name(metric),
            "value": round(run.figures[metric].mean, 4),
            "low": round(run.figures[metric].low, 4),
            "high": round(run.figures[metric].high, 4),
            "is_low": metric == "ndcg" and _is_low(run),
        }
        for at, run in enumerate(runs)
        for metric in _SHOWN
        if metric in run.figures
    ]
    floor = min([LEAST_NDCG, *(figure.low for run in runs for name, figure in run.figures.items() if name in _SHOWN)])
    names = [metric_name(metric) for metric in _SHOWN]
    x = {
        "field": "at", "type": "ordinal", "title": None,
        "axis": {
            "labelAngle": 0, "labelLimit": 120, "labelOverlap": True, "grid": False,
            "labelExpr": f"{json.dumps([when(run.made_at_ms).rsplit(', ', 1) for run in runs])}[datum.value]",
        },
    }  # fmt: skip
    y = {
        "field": "value", "type": "quantitative", "title": None, "axis": {"tickCount": 5, "format": ".2f"},
        "scale": {"domain": [max(0.0, int(10 * (floor - 0.05)) / 10), 1.0], "zero": False},
    }  # fmt: skip
    colour = {
        "field": "metric", "type": "nominal", "title": None,
        "scale": {"domain": names, "range": [colour for colour, _shape in _SHOWN.values()]},
        "legend": {"orient": "top", "symbolSize": 90, "symbolOpacity": 1},
    }  # fmt: skip
    shape = {
        "field": "metric", "type": "nominal", "title": None,
        "scale": {"domain": names, "range": [shape for _colour, shape in _SHOWN.values()]},
    }  # fmt: skip
    told = [
        {"field": "when", "type": "nominal", "title": _("Run")},
        {"field": "metric", "type": "nominal", "title": _("Metric")},
        {"field": "value", "type": "quantitative", "format": ".2f", "title": _("Mean")},
    ]
    return {
        "description": _("Metrics of all runs, the oldest first."),
        "data": {"values": points},
        "layer": [
            {
                "data": {"values": [{"value": LEAST_NDCG}]},
                "mark": {"type": "rule", "aria": False, "strokeDash": [5, 4], "color": _ALARM, "opacity": 0.8},
                "encoding": {"y": y},
            },
            {
                "transform": [{"filter": {"field": "metric", "equal": metric_name("ndcg")}}],
                "mark": {"type": "rule", "aria": False, "opacity": 0.5, "strokeWidth": 3},
                "encoding": {
                    "x": x,
                    "y": {**y, "field": "low"},
                    "y2": {"field": "high"},
                    "color": colour,
                },
            },
            {"mark": {"type": "line", "aria": False, "strokeWidth": 2}, "encoding": {"x": x, "y": y, "color": colour}},
            {
                "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
                "encoding": {"x": x, "y": y, "color": colour, "shape": shape, "tooltip": told},
            },
            {
                "transform": [{"filter": {"field": "is_low", "equal": True}}],
                "mark": {
                    "type": "point",
                    "aria": False,
                    "size": 260,
                    "strokeWidth": 2.5,
                    "color": _ALARM,
                    "shape": "circle",
                },
                "encoding": {"x": x, "y": y},
            },
        ],
    }
