import { AppError } from '../../../errors.ts'
import type { Clock } from '../../../platform/clock.ts'
import { TurnTaker } from '../../../platform/turn-taker.ts'
import type { OpenBlock } from '../../blocks/block-decoder.ts'
import type { BlockReader } from '../../blocks/block-store.ts'
import type { StoredBlock } from '../../blocks/stored-block.ts'
import { readSources } from '../../proof/block-sources.ts'
import type { TreeLeaf } from '../../proof/facts-chain.ts'
import { inTreeOrder } from '../../proof/leaves.ts'
import { DamagedTree } from '../../proof/log-tree.ts'
import type { Trees } from '../../proof/tree-store.ts'
import { spanStart } from '../../rollups/spans.ts'
import type { CellModels } from '../stored-models.ts'
import type { RowTexts } from './columns.ts'
import { listRows } from './rows.ts'

interface DrainedScoresOptions {
  readonly blocks: BlockReader
  readonly trees: Trees
  readonly models: CellModels
  readonly clock: Clock
  /** Characters of the rows of a page; default `PAGE`. */
  readonly charsMax?: number
}

interface DrainedQuery {
  readonly teamId: string
  /** Null for the first score. */
  readonly after: FeedPosition | null
  /** Applicants to look at, at most. */
  readonly limit: number
  readonly deploymentId: string | null
}

interface DrainedPage {
  readonly rows: readonly RowTexts[]
  /** Position behind the last applicant; null: nothing is drained behind `after`. */
  readonly next: string | null
  readonly scores: number
  /** Applicants that the page passes over, because their day has left the log. */
  readonly expired: number
}

/** Some applicants of a drained block, in the order of its tree. */
interface Share {
  readonly leaf: TreeLeaf
  readonly from: number
  readonly to: number
}

const ANY_TIME = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER }
/** Drained blocks of one statement. */
const LEAVES_MAX = 1_000
/** Drained blocks that are read at once: each can be in another merged block, of a small team. */
const SHARES_MAX = 64
/** A page ends after this time, or with about these characters of rows, once it has got on. */
const PAGE = { ms: 2_000, charsMax: 8 * 1024 * 1024 }

/**
 * Reads the scores of a team in the order in which they were drained: that of the leaves of its
 * tree, and within a drained block that of the block's own tree. The drain gives a leaf its index
 * under a lock that it holds until it commits: a leaf never appears before one that is there.
 */
export class DrainedScores {
  private readonly options: DrainedScoresOptions
  private readonly charsMax: number

  constructor(options: DrainedScoresOptions) {
    this.options = options
    this.charsMax = options.charsMax ?? PAGE.charsMax
  }

  /**
   * @throws AppError `invalid_request` for a position of another log; DamagedBlock, DamagedTree or
   *   AppError `unavailable` where the next scores can't be read, which are never left out
   */
  async read(query: DrainedQuery): Promise<DrainedPage> {
    const { clock } = this.options
    const endMs = clock.monotonicMs() + PAGE.ms
    const leaves = await this.leavesFrom(query)
    const rows: RowTexts[] = []
    let [chars, scores, expired] = [0, 0, 0]
    let next: string | null = null
    let isCut = false
    for (const run of listRuns(listShares(leaves, query))) {
      const found = await this.readRun(run, query)
      for (const { leaf, from, to } of run) {
        const share = found.get(leaf.sequence)
        if (share === undefined) {
          await this.requireExpired(leaf)
          expired += to - from
        } else {
          for (const row of share.rows) rows.push(row)
          chars += share.chars
          scores += share.scores
        }
        const reached = share?.to ?? to
        next = writeFeedPosition(leaf, reached)
        isCut = reached < to
        if (isCut) break
      }
      if (isCut || chars > this.charsMax || clock.monotonicMs() > endMs) break
    }
    return { rows, next, scores, expired }
  }

  /** The leaf of the position, and those behind it. */
  private async leavesFrom({ teamId, after }: DrainedQuery): Promise<readonly TreeLeaf[]> {
    const { trees } = this.options
    const { treeId, edge, isSound } = await trees.head(teamId)
    if (!isSound) throw new DamagedTree(teamId)
    const first = after?.sequence ?? 0
    const count = Math.min(LEAVES_MAX, edge.size - first)
    const leaves = treeId === null || count <= 0 ? [] : await trees.leaves(treeId, first, count)
    if (after !== null) requireLeaf(after, leaves[0])
    const isWhole = leaves.every(({ sequence }, index) => sequence === first + index)
    if (!isWhole || leaves.length < count) throw new DamagedTree(teamId)
    return leaves
  }

  /** The shares that the log has, by the index of their leaf. */
  private async readRun(run: readonly Share[], query: DrainedQuery) {
    const wanted = new Map(run.map((share) => [share.leaf.sequence, share]))
    const times = run.map(({ leaf }) => leaf.firstAtMs)
    const range = { fromMs: Math.min(...times), toMs: Math.max(...times) + 1 }
    const found = new Map<number, FoundShare>()
    for await (const stored of this.options.blocks.blocksIn({ ...range, order: 'oldest' })) {
      if (!mayHold(stored, query.teamId, wanted)) continue
      for (const [sequence, share] of await this.sharesIn(stored, wanted, query)) {
        if (found.has(sequence)) throw notAsDrained(share.leaf)
        found.set(sequence, share)
      }
    }
    return found
  }

  private async sharesIn(
    stored: StoredBlock,
    wanted: ReadonlyMap<number, Share>,
    { teamId, deploymentId }: DrainedQuery,
  ): Promise<Map<number, FoundShare>> {
    const { blocks, models } = this.options
    const block = blocks.open(stored)
    // Damaged sources of another team's block are nothing to this one.
    if (!hasTeam(block, teamId)) return new Map()
    const requests = requestsIn(block, blocks.sources(stored, block), teamId)
    const compiled = await models.compiled(block.modelIds)
    const turns = new TurnTaker()
    const shares = new Map<number, FoundShare>()
    for (const [sequence, own] of requests) {
      const share = wanted.get(sequence)
      if (share === undefined) continue
      const { leaf, from, to } = share
      const rows: RowTexts[] = []
      const charsMax = this.charsMax / wanted.size
      let [chars, scores, end] = [0, 0, 0]
      /** The end of the rows, if they are too many before `to`. */
      let cut: number | null = null
      for (const { index, applicants } of inTreeOrder(own)) {
        const start = end
        end += applicants
        const isOther = deploymentId !== null && block.deploymentId(index) !== deploymentId
        const [first, last] = [Math.max(from, start) - start, Math.min(to, end) - start]
        if (isOther || first >= last || cut !== null) continue
        const request = block.request(index, compiled)
        const cards = await models.get(request.models.map(({ modelId }) => modelId))
        let row = 0
        for (const texts of listRows(request, cards)) {
          const applicant = Math.floor(row / request.models.length)
          const isFirstOfApplicant = row++ % request.models.length === 0
          if (applicant < first) continue
          if (applicant >= last) break
          if (isFirstOfApplicant && chars > charsMax) {
            cut = start + applicant
            break
          }
          rows.push(texts)
          for (const text of texts) chars += text.length
          if (turns.isOver) await turns.giveWay()
        }
        scores += (cut === null ? last : cut - start) - first
      }
      if (end !== leaf.applicants) throw notAsDrained(leaf)
      shares.set(sequence, { leaf, rows, chars, scores, to: cut ?? to })
    }
    return shares
  }

  /** @throws AppError `unavailable` unless the log begins after the day of a leaf that it lacks */
  private async requireExpired(leaf: TreeLeaf): Promise<void> {
    const { fromMs, toMs } = await this.options.blocks.findExtent(ANY_TIME)
    const isEmpty = toMs === 0
    if (!isEmpty && spanStart('day', leaf.firstAtMs) >= spanStart('day', fromMs)) {
      throw notAsDrained(leaf)
    }
  }
}

interface FoundShare {
  readonly leaf: TreeLeaf
  readonly rows: readonly RowTexts[]
  readonly chars: number
  readonly scores: number
  /** Applicants of the leaf up to the last row: fewer than asked for if their rows are large. */
  readonly to: number
}

/** The applicants behind a position. */
function* listShares(
  leaves: readonly TreeLeaf[],
  { after, limit }: Pick<DrainedQuery, 'after' | 'limit'>,
): Generator<Share> {
  let rest = limit
  for (const leaf of leaves) {
    const from = leaf.sequence === after?.sequence ? after.applicants : 0
    const to = Math.min(leaf.applicants, from + rest)
    if (from < to) yield { leaf, from, to }
    rest -= to - from
    if (rest === 0) return
  }
}

/** Puts together what follows each other and is of one hour, as a block is. */
function* listRuns(shares: Iterable<Share>): Generator<Share[]> {
  let run: Share[] = []
  for (const share of shares) {
    const first = run[0]?.leaf ?? share.leaf
    const isOfHour = spanStart('hour', first.firstAtMs) === spanStart('hour', share.leaf.firstAtMs)
    if (run.length === SHARES_MAX || !isOfHour) {
      yield run
      run = []
    }
    run.push(share)
  }
  if (run.length > 0) yield run
}

/** Tells whether to open a block. One whose sources are damaged is opened, which says so. */
function mayHold(
  { sources }: StoredBlock,
  teamId: string,
  wanted: ReadonlyMap<number, Share>,
): boolean {
  try {
    const all = readSources(sources, () => teamId).sources
    return all.some((source) => source.teamId === teamId && wanted.has(source.sequence))
  } catch {
    return true
  }
}

function hasTeam(block: OpenBlock, teamId: string): boolean {
  for (let index = 0; index < block.count; index++) if (block.teamId(index) === teamId) return true
  return false
}

interface FoundRequest {
  readonly index: number
  readonly requestId: string
  readonly scoredAtMs: number
  readonly applicants: number
}

/** The team's requests of a block, by the index of their leaf. */
function requestsIn(
  block: OpenBlock,
  { sources, readSource }: ReturnType<typeof readSources>,
  teamId: string,
): Map<number, FoundRequest[]> {
  const requests = new Map<number, FoundRequest[]>()
  for (let index = 0; index < block.count; index++) {
    const source = sources[readSource(index)]
    if (source?.teamId !== teamId || block.teamId(index) !== teamId) continue
    const [requestId, scoredAtMs] = [block.requestId(index), block.scoredAtMs(index)]
    const request = { index, requestId, scoredAtMs, applicants: block.applicants(index) }
    const known = requests.get(source.sequence)
    if (known === undefined) requests.set(source.sequence, [request])
    else known.push(request)
  }
  return requests
}

function notAsDrained({ sequence, applicants, firstAtMs }: TreeLeaf): AppError {
  const message =
    `the score log lacks scores, or has others: ${applicants} were drained as block ${sequence} of ` +
    `the tree of proofs at ${new Date(firstAtMs).toISOString()}; \`scoreline log verify\` says which`
  return new AppError('unavailable', message, { isLasting: true })
}

/**
 * A place between two scores of a team in the order of its log: behind some applicants of a drained
 * block. Merges, the archive and erasures leave the order as it is.
 */
interface FeedPosition {
  /** Index in the team's tree of the drained block that was read last. */
  readonly sequence: number
  /** Applicants of it that are before the position, at least 1. */
  readonly applicants: number
  /** Begin of its root: a database that was set back gives the index to another block. */
  readonly root: string
}

/** The position before the first score. */
const FEED_START = '0'

const ROOT_CHARS = 8

function writeFeedPosition({ sequence, root }: TreeLeaf, applicants: number): string {
  return `${sequence}-${applicants}-${rootText(root)}`
}

/**
 * @returns null for the position before the first score
 * @throws AppError `invalid_request` for a text of another form
 */
export function readFeedPosition(text: string): FeedPosition | null {
  if (text === FEED_START) return null
  const [, sequence, applicants, root] = /^(\d{1,15})-(\d{1,9})-([0-9a-f]{8})$/.exec(text) ?? []
  if (root === undefined || Number(applicants) === 0) throw otherLog()
  return { sequence: Number(sequence), applicants: Number(applicants), root }
}

/** @throws AppError `invalid_request` if the log has no such position, or no longer */
function requireLeaf(position: FeedPosition, leaf: TreeLeaf | undefined): void {
  const isIt =
    leaf?.sequence === position.sequence &&
    position.applicants <= leaf.applicants &&
    rootText(leaf.root) === position.root
  if (!isIt) throw otherLog()
}

function rootText(root: Buffer): string {
  return root.toString('hex').slice(0, ROOT_CHARS)
}

function otherLog(): AppError {
  const message =
    'the log has no position like `after`: it is mistyped, of another team, or the database was ' +
    'set back since; `after=0` begins with the first score'
  return new AppError('invalid_request', message)
}
