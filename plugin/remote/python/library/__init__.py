"""A plugin of Plughook in Python, 3.11 or later. These files are not to be changed: plugin.py is.

What a plugin is made of has the names of Go's package plugin. Events, contents and settings are JSON as
Python reads it. Those that a hook gets cannot be changed: answer with a copy, such as {**event, "author": "me"},
or copy.deepcopy(event), which can be.
"""
from .serving import serve
from .values import (
    About,
    End,
    Error,
    Event,
    Filter,
    Invocation,
    Outcome,
    Plugin,
    Request,
    deny,
    map_text,
)

__all__ = [
    "About", "End", "Error", "Event", "Filter", "Invocation", "Outcome", "Plugin", "Request",
    "deny", "map_text", "serve",
]
