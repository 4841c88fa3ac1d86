import type { Deps } from '../../platform/deps.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { LogThrottle } from '../../platform/log-throttle.ts'
import { Periodic } from '../../platform/periodic.ts'
import type { DamagedBlocks } from '../blocks/damaged-block.ts'
import { IndexUpkeep } from '../blocks/upkeep/index-upkeep.ts'
import { CheckpointSigner } from '../proof/checkpoint.ts'
import { ProofService } from '../proof/service.ts'
import { TreeStore } from '../proof/tree-store.ts'
import { LogErasureService } from './erasure/service.ts'
import { DrainedScores } from './export/drained-scores.ts'
import { ScoreFeed } from './export/feed.ts'
import { LogExportService } from './export/service.ts'
import type { OpenLogReader } from './open-reader.ts'
import type { UnequalResult } from './recompute.ts'
import { ScoreReadingService } from './service.ts'
import { ReadingStore } from './store.ts'

interface ReadingOptions {
  readonly logReader: OpenLogReader
  readonly damaged: DamagedBlocks
  readonly damagedTrees: Set<string>
  /** The holders of references beside the log. */
  readonly others: ConstructorParameters<typeof LogErasureService>[0]['others']
  /** Signs checkpoints, with the key before the last rotation, or null. */
  readonly jwtSecret: string | Buffer
  readonly formerJwtSecret: string | null
}

const RECHECK_MS = 60_000

/** Wires what reads the log back, proves it, and takes references out of it. */
export function openReading({ db, guarded, clock, log }: Deps, options: ReadingOptions) {
  const { reader, models, cells, eraser, blocks } = options.logReader
  const store = guarded(new ReadingStore(db))
  const unequal = new LogThrottle(clock)
  const onUnequal = (result: UnequalResult) => {
    const count = unequal.hit(result.modelId)
    if (count > 0) log.error({ ...result, count }, 'a logged score is not what its bins give')
  }
  const indexUpkeep = new IndexUpkeep({
    db,
    blocks,
    damaged: options.damaged,
    onMended: ({ blockId: block, part }) => log.info({ block, part }, 'a damaged block was mended'),
    onFailed: (error) =>
      log.error({ err: errorFacts(error) }, 'damaged blocks could not be mended yet'),
  }).periodic.start()
  const scoreReading = new ScoreReadingService({ reader, models, store, clock, onUnequal })
  const trees = guarded(new TreeStore(db))
  const proofs = new ProofService({
    reading: scoreReading,
    blocks,
    models: cells,
    trees,
    signer: new CheckpointSigner(options.jwtSecret, options.formerJwtSecret),
    damagedTrees: options.damagedTrees,
    onDamaged: ({ message }) => log.error(message),
  })
  const treeUpkeep = new Periodic({
    round: () => proofs.recheck(),
    everyMs: RECHECK_MS,
    onFailed: (error) =>
      log.error({ err: errorFacts(error) }, 'damaged trees of proofs could not be looked at'),
  }).start()
  const drained = new DrainedScores({ blocks, trees, models: cells, clock })
  return {
    scoreReading,
    indexUpkeep,
    treeUpkeep,
    proofs,
    logErasures: new LogErasureService({ eraser, store, clock, others: options.others }),
    logExports: new LogExportService({ reader, models: cells, store, clock }),
    scoreFeed: new ScoreFeed({ drained, store, clock }),
  }
}
