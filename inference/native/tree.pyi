from typing import Any

from dehusk.inference.native.block_texts import BlockTexts

def columns_of(document: object, address: int, block_texts: BlockTexts) -> dict[str, Any]: ...
