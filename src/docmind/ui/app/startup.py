"""Start of the app: set its path and hosts, print its link, open the browser."""

from __future__ import annotations

import logging
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from streamlit import config

from docmind.access import (
    APP_SOCKET,
    Launch,
    RunningApp,
    announce,
    find_running,
    is_alive,
    listen_private,
    open_browser,
    remove_opening_page,
    remove_socket,
    withdraw,
)
from docmind.config import Settings
from docmind.errors import ConfigError, VaultError
from docmind.storage import check_folder
from docmind.ui.app import options
from docmind.ui.app.streamlit_server import keep_answers, serve_own_parts_only
from docmind.wording import _

_log = logging.getLogger(__name__)


class Startup:
    """The start and end of serving.

    `configure` runs before the routes are built, `begin` once the port is known.
    """

    def __init__(self, settings: Settings | None) -> None:
        """Prepare the launch.

        `settings` is None where they are invalid: the page, still behind the token, says why.
        """
        self._data_dir = settings.data_dir if settings else None
        is_token_required = settings is None or settings.app.token
        self.launch = Launch(is_token_required=is_token_required, origin=settings.app.origin if settings else None)
        self._told: RunningApp | None = None
        self.listening: socket.socket | None = None
        """The Unix socket for programs of the user, from `begin` on; None where there is none."""

    def configure(self) -> None:
        """Tell Streamlit its options, with the path and hosts of this launch; correct its answers and its parts.

        Call it once the app is created, before it serves.
        """
        keep_answers()
        serve_own_parts_only()
        self.launch.place(config.get_option("server.baseUrlPath") or "")
        self._set_options()
        config.on_config_parsed(self._set_options, force_connect=True)  # a file of Streamlit's has changed meanwhile

    def _set_options(self) -> None:
        options.apply()
        config.set_option("server.baseUrlPath", self.launch.base.strip("/"))
        if self.launch.origin:
            hosts = [*config.get_option("server.allowedHosts"), urlsplit(self.launch.origin).hostname]
            config.set_option("server.allowedHosts", hosts)

    def begin(self) -> None:
        """Listen for programs, write `app.json`, print a link, and open the browser unless started headless.

        Nothing is written to a folder in which no vault may be created: then the link is only printed.
        """
        self._check_folder()
        local = self._local_address()
        path = f"{self.launch.prefix}/"
        address = self.launch.origin or local
        app = RunningApp(address + path, local + path, self.launch.secret, self.launch.is_token_required, os.getpid())
        self._listen_and_announce(app)
        how = _(" (works once, for ten minutes; `docmind open` gives another)") if self.launch.is_token_required else ""
        told = _("DocMind is open: {link}").format(link=app.link())
        print(f"\n  {told}\n {how}\n", file=sys.stderr, flush=True)  # noqa: T201
        if self._data_dir is not None and not config.get_option("server.headless"):
            try:
                open_browser(self._data_dir, app.link())
            except OSError as error:
                _log.warning("The browser was not opened (%s): open the link above in it.", error.strerror)

    def end(self) -> None:
        """Remove what `begin` left in the data folder."""
        self.remove_opening_page()
        if self._told is not None and self._data_dir is not None:
            try:
                withdraw(self._data_dir, self._told)
            except OSError as error:
                _log.warning("app.json stays in the data folder (%s); the next start replaces it.", error.strerror)
            if self._told.socket:
                try:
                    remove_socket(Path(self._told.socket))
                except OSError as error:
                    _log.warning("%s stays (%s); the next start replaces it.", self._told.socket, error.strerror)

    def remove_opening_page(self) -> None:
        """Remove the page that opened the browser: its ticket was used."""
        if self._data_dir is not None:
            remove_opening_page(self._data_dir)

    def _check_folder(self) -> None:
        if self._data_dir is not None and self._data_dir.is_dir():
            try:
                check_folder(self._data_dir)
            except VaultError as error:  # the page reports it as well
                _log.warning("%s %s", error, error.hint)
                self._data_dir = None

    def _listen_and_announce(self, app: RunningApp) -> None:
        if self._data_dir is None:
            return
        try:
            other = find_running(self._data_dir)
            if other is not None and is_alive(other):
                _log.warning("Another DocMind is open over this vault; `docmind open` leads to that one.")
                return
            if (private := listen_private(self._data_dir, APP_SOCKET)) is not None:
                self.listening, app = private[0], replace(app, socket=str(private[1]))
                self.launch.serve_privately()
            self._told = app
            announce(self._data_dir, app)
        except OSError as error:
            _log.warning("app.json cannot be written (%s): `docmind open` will not find this app.", error.strerror)
        except ConfigError as error:
            _log.warning("%s %s", error, error.hint)

    def _local_address(self) -> str:
        """Return scheme, host and port of this server; the host as an address in numbers.

        `localhost` may resolve to ::1 first, where another user could listen on the same port and receive the ticket.
        """
        scheme = "https" if config.get_option("server.sslCertFile") else "http"
        bound = config.get_option("server.address") or ""
        host = "[::1]" if bound in ("::1", "::") else "127.0.0.1"
        return f"{scheme}://{host}:{config.get_option('server.port')}"
