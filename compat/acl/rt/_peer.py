"""Access of a device to the memory of another.

The devices of this process lie in one address space and reach each other always; what is switched on is kept, so
that a program that switches it off again gets the codes it expects. Copies between devices need none of it.
"""

from __future__ import annotations

from operator import index

from aacl.errors import InvalidArgument
from acl._devices import OpenDevice, current, existing
from acl._status import PARAM_INVALID, Refused, code_alone, with_code

__all__ = ("device_can_access_peer", "device_disable_peer_access", "device_enable_peer_access")


@with_code(0)
def device_can_access_peer(device_id: int, peer_device_id: int, /) -> tuple[int, int]:
    """Return whether a device can reach the memory of another.

    Args:
        device_id: the one.
        peer_device_id: the other.

    Returns:
        (1, 0) for two devices; (0, 0) for one and the same, which needs no access; (0, 107001) if there is no such
        device.

    Source: aclrtDeviceCanAccessPeer.
    """
    return int(existing(device_id) != existing(peer_device_id)), 0


@code_alone
def device_enable_peer_access(peer_device_id: int, flags: int, /) -> int:
    """Let the current device reach the memory of another, until it is reset; the other way round is a call of its own.

    Args:
        peer_device_id: the other.
        flags: 0.

    Returns:
        0, also when it is on; 100000 for the current device itself, or flags; 107001 if there is no such device; 107002
        without a context.

    Source: aclrtDeviceEnablePeerAccess.
    """
    flags = index(flags)
    device, peer = _pair(peer_device_id)
    if flags:
        raise InvalidArgument(f"flags are {flags}; they must be 0")
    device.peers.add(peer)
    return 0


@code_alone
def device_disable_peer_access(peer_device_id: int, /) -> int:
    """Undo `device_enable_peer_access`.

    Args:
        peer_device_id: the other.

    Returns:
        0; 107000 if it is not on; otherwise as `device_enable_peer_access`.

    Source: aclrtDeviceDisablePeerAccess.
    """
    device, peer = _pair(peer_device_id)
    if peer not in device.peers:
        raise Refused(
            PARAM_INVALID,
            f"access of device {device.index} to device {peer} is not on; acl.rt.device_enable_peer_access({peer}, 0) "
            f"switches it on while device {device.index} is current",
        )
    device.peers.discard(peer)
    return 0


def _pair(number: int) -> tuple[OpenDevice, int]:
    """Return the current device and the number of another one."""
    device, peer = current().device, existing(number)
    if peer == device.index:
        raise InvalidArgument(f"device {peer} is the current one; name another")
    return device, peer
