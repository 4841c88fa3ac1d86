import { KnownHeads } from '../../../src/log/blocks/known-heads.ts'
import { type BlockTree, BlockTrees } from '../../../src/log/proof/block-trees.ts'
import { RecordScanner } from '../../../src/log/record/record-scanner.ts'

/** The trees of the teams of these records, as one block has them. */
export function readTrees(payloads: readonly Buffer[]): BlockTree[] {
  const heads = new KnownHeads()
  const record = new RecordScanner()
  const trees = new BlockTrees()
  for (const payload of payloads) trees.add(record.scan(payload), heads.of(payload).leafTexts)
  return trees.trees()
}
