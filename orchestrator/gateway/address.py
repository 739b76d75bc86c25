"""The address of a model server: whose it is, and whether it lies on this machine."""

import ipaddress
from urllib.parse import urlsplit

from ..errors import OrchestratorFault
from ..settings.setup import Profile

ANTHROPIC = "https://api.anthropic.com"


class NotLocal(OrchestratorFault):
    """Raised when a profile that is bound to this machine has an address beyond it."""

    exit_code = 2

    def __init__(self, profile: str, address: str) -> None:
        super().__init__(
            f"profile {profile}: it is local, and {address} is not an address of this machine",
            hint="onepen config show",
        )


def address_of(profile: Profile) -> str:
    """The address without what the library adds (`/v1`); raises NotLocal."""
    address = (profile.base_url or ANTHROPIC).rstrip("/").removesuffix("/v1")
    if profile.local and not on_this_machine(address):
        raise NotLocal(profile.name, address)
    return address


def host_of(address: str) -> str:
    """Host and port, for messages: never what stands before an @."""
    return urlsplit(address).netloc.rpartition("@")[2] or address


def on_this_machine(address: str) -> bool:
    """Whether the address is a loopback one; a name other than localhost is none, whatever it leads to now."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
