"""Lists and dictionaries that a node's arguments are held in: a change goes through the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torchlike.utils import _pytree as pytree

__all__ = ["immutable_dict", "immutable_list"]


def _refusing(kind: str) -> Callable[..., Any]:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            f"{kind!r} object does not support mutation. If you are attempting to modify the "
            "kwargs or args of a torch.fx.Node object,\ninstead create a new copy of it and "
            "assign the copy to the node:\n    new_args = ...  # copy and mutate args\n    "
            "node.args = new_args\n"
        )

    return refuse


class immutable_list(list[Any]):
    """A list that refuses to change."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refusing("immutable_list")  # type: ignore[assignment]
    append = clear = extend = insert = pop = remove = reverse = sort = _refusing("immutable_list")  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[Any, Any]):
    """A dictionary that refuses to change."""

    __delitem__ = __ior__ = __setitem__ = _refusing("immutable_dict")  # type: ignore[assignment]
    clear = pop = popitem = setdefault = update = _refusing("immutable_dict")  # type: ignore[assignment]

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return immutable_dict, (dict(self),)


pytree.register_pytree_node(
    immutable_list,
    lambda x: (list(x), None),
    lambda children, _: immutable_list(children),
    serialized_type_name="torch.fx.immutable_collections.immutable_list",
    flatten_with_keys_fn=pytree._list_flatten_with_keys,
)
pytree.register_pytree_node(
    immutable_dict,
    lambda x: (list(x.values()), list(x.keys())),
    lambda children, keys: immutable_dict(zip(keys, children, strict=True)),
    serialized_type_name="torch.fx.immutable_collections.immutable_dict",
    flatten_with_keys_fn=pytree._dict_flatten_with_keys,
)
