"""``acl.fv``: feature retrieval, the nearest of many short features to a query.

``init`` begins it on the current device. Features go into repositories, each with two ids, by ``repo_add``; ``search``
writes the nearest ones' ids, offsets and distances to memory of the program; ``release`` ends it.
"""

from acl.fv._feature_info import create_feature_info as create_feature_info
from acl.fv._feature_info import destroy_feature_info as destroy_feature_info
from acl.fv._init_para import create_init_para as create_init_para
from acl.fv._init_para import destroy_init_para as destroy_init_para
from acl.fv._init_para import set_1n_top_num as set_1n_top_num
from acl.fv._init_para import set_nm_top_num as set_nm_top_num
from acl.fv._repo_range import create_repo_range as create_repo_range
from acl.fv._repo_range import destroy_repo_range as destroy_repo_range
from acl.fv._retrieval import delete as delete
from acl.fv._retrieval import init as init
from acl.fv._retrieval import modify as modify
from acl.fv._retrieval import release as release
from acl.fv._retrieval import repo_add as repo_add
from acl.fv._retrieval import repo_del as repo_del
from acl.fv._retrieval import search as search
from acl.fv._search_input import create_query_table as create_query_table
from acl.fv._search_input import create_search_input as create_search_input
from acl.fv._search_input import destroy_query_table as destroy_query_table
from acl.fv._search_input import destroy_search_input as destroy_search_input
from acl.fv._search_result import create_search_result as create_search_result
from acl.fv._search_result import destroy_search_result as destroy_search_result

__all__ = (
    "create_feature_info",
    "create_init_para",
    "create_query_table",
    "create_repo_range",
    "create_search_input",
    "create_search_result",
    "delete",
    "destroy_feature_info",
    "destroy_init_para",
    "destroy_query_table",
    "destroy_repo_range",
    "destroy_search_input",
    "destroy_search_result",
    "init",
    "modify",
    "release",
    "repo_add",
    "repo_del",
    "search",
    "set_1n_top_num",
    "set_nm_top_num",
)


def __dir__() -> list[str]:
    return [*__all__]
