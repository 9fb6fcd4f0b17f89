"""A product of matrices as a request for the operator GEMM."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, NamedTuple

import aacl
from aacl.errors import InvalidArgument, NotSupported, OperatorNotFound, UnsupportedDataType
from acl._state import at_finalize, require_init
from acl.op._handle import Matched, keep
from acl.op._library import find
from acl.op._prepared import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from acl._streams import Stream

__all__ = ("FLOAT16", "INT8", "INT32", "Product", "check_compute_type", "check_step", "product_handle", "run_product")

FLOAT, FLOAT16, INT8, INT32 = 0, 1, 2, 3
_KINDS = frozenset({(FLOAT16, FLOAT16), (FLOAT16, FLOAT), (FLOAT, FLOAT), (INT8, INT32), (INT8, FLOAT)})
"""The data types of a and b, and of c; alpha and beta have that of c."""

_PLAIN, _TURNED, _BLOCKS, _TURNED_BLOCKS = range(4)  # aclTransType: N, T, NZ, NZ_T
_KNOWN_MOST = 1024
_OWN_LENGTH = -1  # a leading dimension, or a step, that follows from the shape


class Product(NamedTuple):
    """What is multiplied: ``c = alpha * op(a) op(b) + beta * c``.

    Attributes:
        name: of the call, for texts.
        transposes: of a, b and c.
        sizes: m rows of op(a) and c, n columns of op(b) and c, k columns of op(a) and rows of op(b).
        dtypes: of a, b and c.
    """

    name: str
    transposes: tuple[int, int, int]
    sizes: tuple[int, int, int]
    dtypes: tuple[int, int, int]

    def checked(self) -> Product:
        """Return it with plain numbers.

        Raises:
            InvalidArgument: a transpose or a size that there is not.
            NotSupported: a matrix is said to lie in blocks (NZ).
            UnsupportedDataType: data types that do not go together.
        """
        found = Product(self.name, *[tuple(map(index, numbers)) for numbers in self[1:]])  # type: ignore[arg-type] # three numbers each
        for matrix, transpose in zip("abc", found.transposes, strict=True):
            found._check_transpose(matrix, transpose)
        if min(found.sizes) < 1:
            raise InvalidArgument(f"{self.name}: m, n and k are at least 1; {found.sizes} were given")
        left, right, result = found.dtypes
        if left != right or (left, result) not in _KINDS:
            raise UnsupportedDataType(
                f"{self.name}: a, b and c have data types {left}, {right} and {result}; they may be FLOAT16 (1) giving "
                "FLOAT16 or FLOAT (0), FLOAT giving FLOAT, or INT8 (2) giving INT32 (3) or FLOAT"
            )
        return found

    def _check_transpose(self, matrix: str, transpose: int) -> None:
        if transpose in (_BLOCKS, _TURNED_BLOCKS):
            raise NotSupported(
                f"{self.name}: matrix {matrix} is said to lie in blocks (transpose type {transpose}); the software "
                "device multiplies matrices whose rows lie one after another, with type 0 or 1"
            )
        if transpose not in ((_PLAIN,) if matrix == "c" else (_PLAIN, _TURNED)):
            raise InvalidArgument(f"{self.name}: matrix {matrix} cannot have transpose type {transpose}")

    def check_leading(self, *lengths: int) -> None:
        """Check the leading dimensions of a, b and c: -1, or the length of a row as it lies in memory.

        Raises:
            InvalidArgument: another one.
        """
        for matrix, desc, length in zip("abc", self._matrices(), lengths, strict=True):
            if index(length) not in (_OWN_LENGTH, desc.shape[1]):
                raise InvalidArgument(
                    f"{self.name}: the leading dimension of {matrix} is reserved: -1, or the {desc.shape[1]} elements "
                    f"of a row; {length} was given"
                )

    def _matrices(self) -> tuple[aacl.TensorDesc, ...]:
        m, n, k = self.sizes
        shapes = (k, m) if self.transposes[0] else (m, k), (n, k) if self.transposes[1] else (k, n), (m, n)
        return tuple([_desc(dtype, shape) for dtype, shape in zip(self.dtypes, shapes, strict=True)])

    def matched(self) -> Matched:
        """Return the request, for the operator model that there is.

        Raises:
            OperatorNotFound: there is none; alpha and beta may be scalars in it, or have one dim of one element.
        """
        known = _known.get(self)
        if known is None:
            try:
                known = self._found(())
            except OperatorNotFound as error:
                try:
                    known = self._found((1,))
                except OperatorNotFound:
                    raise error from None
            if len(_known) >= _KNOWN_MOST:
                _known.clear()
            _known[self] = known
        return known

    def _found(self, shape: tuple[int, ...]) -> Matched:
        matrices, factor = self._matrices(), _desc(self.dtypes[2], shape)
        values = {"transpose_a": self.transposes[0] == _TURNED, "transpose_b": self.transposes[1] == _TURNED}
        key = tuple([(name, ("Bool", value)) for name, value in values.items()])
        matched = Matched("GEMM", (*matrices, factor, factor), matrices[2:], key, values)
        find(matched.op_type, matched.inputs, matched.outputs, values)
        return matched


_known: dict[Product, Matched] = {}
"""Which operator model there is, by what is multiplied: a model that is dropped later is looked for again, and missed."""


def _desc(dtype: int, shape: Sequence[int]) -> aacl.TensorDesc:
    return aacl.TensorDesc.of(aacl.DataType(dtype), shape)


def check_compute_type(name: str, compute_type: int) -> None:
    """Check an ``aclComputeType``; both mean the same here: sums are kept in the wider type.

    Raises:
        InvalidArgument: it is neither 0 nor 1.
    """
    if index(compute_type) not in (0, 1):
        raise InvalidArgument(f"{name}: the compute type is 0, high precision, or 1, low; not {compute_type}")


def check_step(name: str, vector: str, step: int) -> None:
    """Check the distance of a vector's elements: -1, or 1.

    Raises:
        InvalidArgument: another one.
    """
    if index(step) not in (_OWN_LENGTH, 1):
        raise InvalidArgument(
            f"{name}: the distance of the elements of {vector} is reserved: -1, or 1; {step} was given"
        )


def run_product(product: Product, addresses: Sequence[int], stream: Stream) -> int:
    """Submit a product, of memory at the addresses of a, b, c, alpha and beta; return 0."""
    numbers = [index(address) for address in addresses]
    for what, number in zip(("a", "b", "c", "alpha", "beta"), numbers, strict=True):
        if not number:
            raise InvalidArgument(f"{product.name}: the address of {what} is null")
    matched = product.matched()
    spans = tuple([(number, desc.nbytes) for number, desc in zip(numbers, matched.inputs, strict=True)])
    run(matched.on(spans, spans[2:3]), matched.values, stream)
    return 0


def product_handle(product: Product) -> tuple[int, int]:
    """Return (the handle of a product, 0), for ``acl.op.execute_with_handle``."""
    require_init()
    return keep(product.checked().matched()), 0


at_finalize(_known.clear)
