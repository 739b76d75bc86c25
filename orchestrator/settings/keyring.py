"""A profile's key from the system's keyring, where the person keeps it there."""

import importlib

from .setup import Secret

SERVICE = "onepen"


def key_from_keyring(profile: str) -> tuple[Secret | None, str]:
    """The key, and "" or why there is none; the keyring may ask the person to unlock it."""
    try:
        keyring, errors = importlib.import_module("keyring"), importlib.import_module("keyring.errors")
    except ImportError:
        return None, "its key is in the keyring, and reading it needs: pip install 'onepen[keyring]'"
    try:
        value = keyring.get_password(SERVICE, profile)
    except (errors.KeyringError, RuntimeError, OSError) as e:  # each system's fails in its own way
        reason = str(e).splitlines()[0] if str(e) else type(e).__name__
        return None, f"the keyring can't be read: {reason}"
    if not value:
        return None, f"the keyring has no key; put it there with: keyring set {SERVICE} {profile}"
    return Secret(value), ""
