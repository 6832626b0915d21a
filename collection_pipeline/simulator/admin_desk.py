"""The admin interface under `/__simulator/`: day, faults, scenario, catalogue, log.

Its requests are neither logged nor touched by faults. A mistake is a 400 with `error`.
"""

import json
from collections.abc import Callable
from datetime import date
from typing import Any

from collection_pipeline.simulator.fault_plan import FAULTS
from collection_pipeline.simulator.messages import Reply, Request, json_reply
from collection_pipeline.simulator.scenario import parse_scenario
from collection_pipeline.simulator.simulation import Simulation

PREFIX = "/__simulator/"


class AdminDesk:
    """Reads and changes a running simulation over HTTP."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._routes: dict[tuple[str, str], Callable[[Request], Any]] = {
            ("GET", ""): self._state,
            ("POST", "day"): self._set_day,
            ("GET", "faults"): self._list_faults,
            ("POST", "faults"): self._add_faults,
            ("DELETE", "faults"): self._drop_faults,
            ("POST", "scenario"): self._load,
            ("GET", "catalogue"): self._catalogue,
            ("GET", "log"): self._log,
            ("DELETE", "log"): self._forget,
        }

    def answer(self, request: Request) -> Reply:
        """The reply to an admin request."""
        place = request.path.removeprefix(PREFIX.rstrip("/")).strip("/")
        route = self._routes.get((request.method, place))
        if route is None:
            return json_reply({"error": "no such admin path"}, 404)
        try:
            return json_reply(route(request))
        except LookupError as error:
            return json_reply({"error": str(error)}, 404)
        except (ValueError, TypeError) as error:
            return json_reply({"error": str(error)}, 400)

    def _state(self, _request: Request) -> dict[str, Any]:
        world = self._simulation.world
        today = world.calendar.today()
        return {
            "run_date": today.run_date.isoformat(),
            "base_date": today.first.isoformat(),
            "day": today.day,
            "addresses": self._simulation.addresses,
            "sources": [
                {
                    "platform": catalogue.platform,
                    "key": catalogue.key,
                    "eu": catalogue.rule.eu,
                    "count": len(catalogue.state(today.day).order),
                }
                for catalogue in world.shelf.all()
            ],
            "faults": self._simulation.faults.listed(),
            "requests": len(self._simulation.log),
        }

    def _set_day(self, request: Request) -> dict[str, Any]:
        document = _document(request)
        if not isinstance(document, dict) or not isinstance(document.get("run_date"), str):
            raise ValueError('the body is {"run_date": "YYYY-MM-DD"}')
        self._simulation.move_to(date.fromisoformat(document["run_date"]))
        return self._state(request)

    def _list_faults(self, _request: Request) -> dict[str, Any]:
        return {"faults": self._simulation.faults.listed(), "names": sorted(FAULTS)}

    def _add_faults(self, request: Request) -> dict[str, Any]:
        document = _document(request)
        documents = document if isinstance(document, list) else [document]
        if not all(isinstance(entry, dict) for entry in documents):
            raise ValueError("the body is one fault or a list of faults")
        return {"numbers": self._simulation.add_faults(documents)}

    def _drop_faults(self, request: Request) -> dict[str, Any]:
        number = dict(request.pairs).get("number")
        if number is None:
            self._simulation.faults.clear()
        elif not self._simulation.faults.remove(int(number)):
            raise LookupError("no fault of that number")
        return {"faults": self._simulation.faults.listed()}

    def _load(self, request: Request) -> dict[str, Any]:
        document = _document(request)
        if not isinstance(document, dict):
            raise ValueError("the body is a scenario")
        self._simulation.load(parse_scenario(document))
        return self._state(request)

    def _catalogue(self, request: Request) -> dict[str, Any]:
        given = dict(request.pairs)
        text = given.get("run_date")
        run_date = date.fromisoformat(text) if text else None
        found = self._simulation.catalogue(given["platform"], given["key"], run_date)
        if found is None:
            raise LookupError("no such catalogue")
        return found

    def _log(self, request: Request) -> dict[str, Any]:
        since = int(dict(request.pairs).get("since", "0"))
        return {"records": self._simulation.log.records(since), "next": len(self._simulation.log)}

    def _forget(self, _request: Request) -> dict[str, Any]:
        self._simulation.log.forget()
        return {"records": [], "next": 0}


def _document(request: Request) -> Any:
    return json.loads(request.body or b"null")
