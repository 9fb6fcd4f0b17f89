"""Integrals without a closed form, in float64: exponential, Dawson's, Fresnel's, Spence's; and modified Bessel functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from aacl.backends.cpu.kernels._faddeeva import faddeeva
from aacl.backends.cpu.kernels._gamma import BERNOULLI

if TYPE_CHECKING:
    from aacl.abc import Array

__all__ = ("bessel_i0e", "bessel_i1e", "dawson", "expint", "fresnel", "spence")

_EULER = 0.5772156649015329


def bessel_i0e(x: Array) -> Array:
    """Return ``exp(-|x|) I0(x)``."""
    return _bessel(np.abs(x), 0)


def bessel_i1e(x: Array) -> Array:
    """Return ``exp(-|x|) I1(x)``, which is odd."""
    return np.asarray(np.copysign(_bessel(np.abs(x), 1), x))


def _bessel(x: Array, order: int) -> Array:
    """Return the power series up to 20, where no term cancels another, and the asymptotic one beyond."""
    near = np.minimum(x, 20)
    quarter, total = np.square(near) / 4, np.ones_like(x)
    for step in range(50, 0, -1):
        total = 1 + total * quarter / (step * (step + order))
    small = total * np.exp(-near) * (near / 2 if order else 1)
    far = np.maximum(x, 20)
    total = np.ones_like(x)
    for step in range(30, 0, -1):
        total = 1 - total * (4 * order**2 - (2 * step - 1) ** 2) / (step * 8 * far)
    return np.asarray(np.where(x <= 20, small, total / np.sqrt(2 * math.pi * far)))


def dawson(x: Array) -> Array:
    """Return ``exp(-x^2)`` times the integral of ``exp(t^2)`` from 0 to x."""
    near = np.abs(x) < 0.1
    square, total = np.square(np.where(near, x, 0)), np.zeros_like(x)
    for step in range(8, -1, -1):
        total = 1 - total * square * 2 / (2 * step + 3)
    far = np.copysign(math.sqrt(math.pi) / 2 * faddeeva(np.abs(x) + 0j).imag, x)
    return np.asarray(np.where(near, x * total, np.where(np.isinf(x), np.copysign(0.0, x), far)))


def fresnel(x: Array) -> tuple[Array, ...]:
    """Return the integrals of ``sin`` and of ``cos`` of ``pi t^2 / 2`` from 0 to x."""
    size = np.abs(x)
    near = np.where(size < 1.5, size, 0)
    angle = math.pi / 2 * np.square(near)
    sine, cosine = np.zeros_like(x), np.zeros_like(x)
    for step in range(16, -1, -1):
        sine = sine * -np.square(angle) + 1 / (math.factorial(2 * step + 1) * (4 * step + 3))
        cosine = cosine * -np.square(angle) + 1 / (math.factorial(2 * step) * (4 * step + 1))
    far = np.where(size < 1.5, 1.5, np.minimum(size, 1e15))
    turn = np.mod(np.square(far), 4) * (math.pi / 2)
    wave = (0.5 + 0.5j) * (1 - np.exp(1j * turn) * faddeeva((1 + 1j) * math.sqrt(math.pi) / 2 * far))
    is_near = size < 1.5
    sines = np.where(is_near, sine * angle * near, wave.imag)
    cosines = np.where(is_near, cosine * near, wave.real)
    return tuple(np.where(np.isnan(x), np.nan, np.copysign(each, x)) for each in (sines, cosines))


def expint(x: Array) -> Array:
    """Return the principal value of the integral of ``exp(t) / t`` up to x: -infinity at 0."""
    size = np.abs(x)
    small = np.where((x > 0) | (size <= 1), np.clip(x, -1, 40), 1)
    total = np.zeros_like(x)
    for step in range(140, 0, -1):
        total = small / step * (1 / step + total)
    near = _EULER + np.log(np.abs(small)) + total
    far = np.maximum(size, 40)
    total = np.ones_like(x)
    for step in range(40, 0, -1):
        total = 1 + total * step / far
    above = np.where(np.isinf(x), np.inf, np.exp(far) / far * total)
    tail = np.maximum(size, 1)
    fraction = np.zeros_like(x)
    for step in range(100, 0, -1):
        fraction = step / (1 + step / (tail + fraction))
    below = np.where(np.isinf(x), 0.0, -np.exp(-tail) / (tail + fraction))
    result = np.where(x > 40, above, np.where(x < -1, below, near))
    return np.asarray(np.where(np.isnan(x), np.nan, result))


def spence(x: Array) -> Array:
    """Return the dilogarithm of ``1 - x``; NaN of negative numbers."""
    large, small = x > 2, x < 0.5
    inverse = np.where(large, 1 / x, x)
    turned = large | small
    logs = np.log(np.where(inverse > 0, inverse, 1.0))
    mirrored = (
        math.pi**2 / 6
        - logs * np.log1p(-np.where(turned, inverse, 0.0))
        - _dilogarithm(np.where(turned, 1 - inverse, 1.0))
    )
    middle = np.where(turned, mirrored, _dilogarithm(np.where(turned, 1.0, x)))
    result = np.where(large, -middle - 0.5 * np.square(np.log(np.where(large, x, 1.0))), middle)
    return np.asarray(np.where((x < 0) | np.isnan(x), np.nan, result))


def _dilogarithm(x: Array) -> Array:
    """Return the dilogarithm of ``1 - x`` for x from 0.5 to 2, by its series in ``-log(x)``."""
    u = -np.log(x)
    square, total = np.square(u), np.zeros_like(u)
    for place in range(len(BERNOULLI), 0, -1):
        total = total * square + BERNOULLI[place - 1] / math.factorial(2 * place + 1)
    return np.asarray(u - square / 4 + total * square * u)
