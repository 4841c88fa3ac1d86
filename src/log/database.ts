/* The door of the log for stores, and for what reads its tables on other threads. */

export { openArchiveBytes } from './archive/archive-bytes.ts'
export { BLOCK_COLUMNS, readBlock } from './blocks/block-rows.ts'
export { DamagedBlock } from './blocks/damaged-block.ts'
export { IS_CURRENT } from './blocks/index-sums.ts'
export { rollupsOfSums, selectUnsummed } from './blocks/unsummed.ts'
export { insertBlocks } from './drain/store.ts'
export { ErasuresMovedError, NEWEST_ERASURE, newestErasure } from './erasure/erasure-list.ts'
export { openLogReader } from './reading/open-reader.ts'
export { ROLLUP_COLUMNS, rollupOfRow } from './rollups/rollup.ts'
