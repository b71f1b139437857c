# Types of the stub for the classes that are made by hand (blocks/block.hpp).

_native\.(ScopeBase)$:
    \from types import TracebackType
    \from typing import Self
    class ScopeBase:
        def _give(self, native: Context, judged: bool, /) -> bool: ...
        @property
        def _native(self) -> Context: ...
        def __enter__(self) -> Self: ...
        def __exit__(
            self,
            kind: type[BaseException] | None = None,
            value: BaseException | None = None,
            traceback: TracebackType | None = None,
        ) -> None: ...

_native\.(RecordingBase)$:
    \from types import TracebackType
    \from typing import Any
    class \1:
        def __enter__(self) -> Any: ...
        def __exit__(
            self,
            kind: type[BaseException] | None = None,
            value: BaseException | None = None,
            traceback: TracebackType | None = None,
        ) -> None: ...

_native\.(\w+Base)$:
    \from types import TracebackType
    \from typing import Self
    class \1:
        def __enter__(self) -> Self: ...
        def __exit__(
            self,
            kind: type[BaseException] | None = None,
            value: BaseException | None = None,
            traceback: TracebackType | None = None,
        ) -> None: ...
