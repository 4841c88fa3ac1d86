/* The door of the log for the command line, which drains and answers nothing. */

export { openArchive } from './archive/open.ts'
export { BlockIndexReader } from './blocks/block-index.ts'
export { listSetAside, restoreSetAside } from './drain/set-aside.ts'
export { ScoreLogStore } from './drain/store.ts'
export { TreeStore } from './proof/tree-store.ts'
export { verifyLog } from './proof/verify.ts'
export { LogErasureService } from './reading/erasure/service.ts'
export { LogExportService } from './reading/export/service.ts'
export { openLogReader } from './reading/open-reader.ts'
export { ReadingStore } from './reading/store.ts'
