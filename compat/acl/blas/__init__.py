"""``acl.blas``: products of matrices and vectors, which the operator GEMM computes.

They are shortcuts: the operator model of GEMM must be loaded (``acl.op.set_model_dir``,
``acl.op.load``) or compiled (``acl.op.compile``) for the same shapes, data types and transposes, with inputs a,
b, c, alpha and beta, and the result in the place of c.
"""

from acl.blas._gemm import create_handle_for_gemm_ex as create_handle_for_gemm_ex
from acl.blas._gemm import create_handle_for_hgemm as create_handle_for_hgemm
from acl.blas._gemm import create_handle_for_s8gemm as create_handle_for_s8gemm
from acl.blas._gemm import gemm_ex as gemm_ex
from acl.blas._gemm import hgemm as hgemm
from acl.blas._gemm import s8gemm as s8gemm
from acl.blas._gemv import create_handle_for_gemv_ex as create_handle_for_gemv_ex
from acl.blas._gemv import create_handle_for_hgemv as create_handle_for_hgemv
from acl.blas._gemv import create_handle_for_s8gemv as create_handle_for_s8gemv
from acl.blas._gemv import gemv_ex as gemv_ex
from acl.blas._gemv import hgemv as hgemv
from acl.blas._gemv import s8gemv as s8gemv

__all__ = (
    "create_handle_for_gemm_ex",
    "create_handle_for_gemv_ex",
    "create_handle_for_hgemm",
    "create_handle_for_hgemv",
    "create_handle_for_s8gemm",
    "create_handle_for_s8gemv",
    "gemm_ex",
    "gemv_ex",
    "hgemm",
    "hgemv",
    "s8gemm",
    "s8gemv",
)


def __dir__() -> list[str]:
    return [*__all__]
