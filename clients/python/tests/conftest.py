"""The service, once for all tests, and clients of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sample import specification
from scoreline import Client, Deployed
from service import Service


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    running = Service()
    yield running
    running.close()


@pytest.fixture(scope="session")
def credentials(service: Service) -> dict[str, str]:
    return {"token": service.account(), "key": service.key()}


@pytest.fixture
def client(service: Service, credentials: dict[str, str]) -> Iterator[Client]:
    with Client(service.url, credentials["token"], key=credentials["key"]) as made:
        yield made


@pytest.fixture(scope="session")
def deployed(service: Service, credentials: dict[str, str]) -> Deployed:
    """The sample card behind an endpoint that no test changes."""
    with Client(service.url, credentials["token"]) as client:
        return client.deploy(specification(), environment="production")
