import { type SQL, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { detach } from '../../platform/bytes/detach.ts'
import { CallGroups } from '../../platform/db/call-groups.ts'
import { momentText, queryRows, type Statements } from '../../platform/db/client.ts'
import { DATABASE_DEADLINE_MS } from '../../platform/db/guard.ts'
import { type LostBlock, lostBlockError } from '../archive/archived-blocks.ts'
import { spanStart, type TimeRange } from '../rollups/spans.ts'
import { LISTED_COLUMNS, listBlocks } from './block-conditions.ts'
import type { ListedBlock } from './block-rows.ts'
import { areSourcesWhole } from './damaged-block.ts'
import { cacheName, type StoredBlock } from './stored-block.ts'

type ReadBlocks = (
  listed: readonly ListedBlock[],
  onLost?: (lost: LostBlock) => void,
) => AsyncIterable<StoredBlock>

/** What has become of a listed block: null for one that has left the log. */
type Outcome =
  | { readonly block: StoredBlock | null }
  | { readonly lost: LostBlock }
  | { readonly error: unknown }

interface Place {
  readonly idMs: number
  /** Where the first request of the block can be. */
  readonly range: TimeRange
  /** A part of it where the block is known not to be. */
  readonly except: TimeRange
}

const CACHED_BYTES_MAX = 48 * 1024 * 1024
/** An upper bound of what an opened block takes for each byte of its columns. */
const OPENED_FACTOR = 6
/** The same for each deployment, however few requests it has, and once for the block. */
const DEPLOYMENT_BYTES = 6 * 1024
/** A request id is made when the headers are there; the answer follows within this time. */
const ANSWER_MS_MAX = 30 * 60_000
/** How far clocks were set back between the id and the answer. */
const CLOCK_MS_MAX = 60_000
/** Nearly all requests are answered within this time. */
const NEAR_MS = 5_000
const NOWHERE: TimeRange = { fromMs: 0, toMs: 0 }
/** Requests that are looked for in one statement. */
const GROUP_MAX = 64
const GROUP_BYTES_MAX = 1024 * 1024
/** Statements of a kind that are under way at a time. */
const GROUPS_AT_ONCE = 2

/**
 * Finds the blocks that can hold a request. Searches that come at the same time share their
 * statements, and a block that several of them want is read and opened once.
 */
export class BlockFinder {
  private readonly db: Statements
  private readonly read: ReadBlocks
  /** Blocks of single requests: who reads one often reads others of the same time. */
  private readonly cache = new LRUCache<string, StoredBlock>({ maxSize: CACHED_BYTES_MAX })
  private readonly underWay = new Map<string, Promise<Outcome>>()
  private readonly near = this.groupLists(false)
  /** A merge between the two moves a request: these include those that a merge replaced. */
  private readonly far = this.groupLists(true)
  private readonly rows = new CallGroups({
    run: (listed: readonly ListedBlock[]) => this.readAll(listed),
    weigh: ({ bytes }) => bytes + GROUP_BYTES_MAX / GROUP_MAX,
    weightMax: GROUP_BYTES_MAX,
    deadlineMs: 2 * DATABASE_DEADLINE_MS,
    groupsAtOnce: GROUPS_AT_ONCE,
  })

  constructor(db: Statements, read: ReadBlocks) {
    this.db = db
    this.read = read
  }

  /** See `BlockReader`. */
  async *blocksAt(idMs: number, onLost?: (lost: LostBlock) => void): AsyncIterable<StoredBlock> {
    const near = { fromMs: idMs - NEAR_MS, toMs: idMs + NEAR_MS }
    // A block begins at most an hour before its last request.
    const fromMs = spanStart('hour', idMs - CLOCK_MS_MAX)
    const far = { fromMs, toMs: idMs + ANSWER_MS_MAX }
    // Two statements, because nearly all requests are found near: the second would read an hour.
    for (const list of [
      () => this.near.call({ idMs, range: near, except: NOWHERE }),
      () => this.far.call({ idMs, range: far, except: near }),
    ]) {
      for (const listed of await list()) {
        const outcome = await this.readOnce(listed)
        if ('error' in outcome) throw outcome.error
        if ('block' in outcome) {
          if (outcome.block !== null) yield outcome.block
        } else if (onLost === undefined) throw lostBlockError(outcome.lost)
        else onLost(outcome.lost)
      }
    }
  }

  /** To be called for a block that is damaged: it may be restored by the next search. */
  forget(stored: StoredBlock): void {
    this.cache.delete(cacheName(stored))
  }

  private groupLists(withSuperseded: boolean): CallGroups<Place, readonly ListedBlock[]> {
    return new CallGroups({
      run: (places) => this.list(places, withSuperseded),
      weightMax: GROUP_MAX,
      deadlineMs: DATABASE_DEADLINE_MS,
      groupsAtOnce: GROUPS_AT_ONCE,
    })
  }

  /** Those that can hold each request, likely ones first. */
  private async list(
    places: readonly Place[],
    withSuperseded: boolean,
  ): Promise<readonly (readonly ListedBlock[])[]> {
    const starts = places.map(({ range }) => range.fromMs)
    const ends = places.map(({ range }) => range.toMs)
    // The bounds of all say to the planner which partitions it need not look at.
    const rows = listBlocks(
      (isIndexSound) => sql`first_at >= ${writeMoment(Math.min(...starts))}
        and first_at < ${writeMoment(Math.max(...ends))}
        and first_at >= place.from_at and first_at < place.to_at
        and not (first_at >= place.except_from and first_at < place.except_to)
        and (id_from <= place.id_end and id_to >= place.id_start or not ${isIndexSound})`,
      { withSuperseded },
    )
    const asked = places.map(({ idMs, range, except }, number) => {
      const { fromMs, toMs } = range
      const edges = [fromMs, toMs, except.fromMs, except.toMs, Math.floor(idMs), Math.ceil(idMs)]
      return sql`(${sql.raw(String(number))}, ${sql.join(edges.map(writeMoment), sql`, `)})`
    })
    const listed = await queryRows<ListedBlock & { readonly place: number }>(
      this.db,
      sql`select place.number as place, ${LISTED_COLUMNS} from (values ${sql.join(asked, sql`, `)})
        as place(number, from_at, to_at, except_from, except_to, id_start, id_end)
        cross join lateral ${rows}
        order by place.number, listed.last_at desc, listed.block_id`,
    )
    const byPlace = places.map((): ListedBlock[] => [])
    for (const block of listed) byPlace[block.place]?.push(block)
    return byPlace
  }

  /** An erasure changes a block in its place, and its checksum with it. */
  private readOnce(listed: ListedBlock): Promise<Outcome> | Outcome {
    const { block_id: blockId, first_at_ms: firstAtMs, checksum } = listed
    const name = cacheName({ blockId, firstAtMs, checksum })
    const known = this.cache.get(name)
    if (known !== undefined) return { block: known }
    const found = this.underWay.get(name)
    if (found !== undefined) return found
    // An archive can be slow: nothing that the database has waits for it.
    const reading = (listed.is_archived ? this.readAlone(listed) : this.rows.call(listed)).finally(
      () => this.underWay.delete(name),
    )
    this.underWay.set(name, reading)
    return reading
  }

  private async readAll(listed: readonly ListedBlock[]): Promise<readonly Outcome[]> {
    const lost = new Map<string, LostBlock>()
    const blocks = new Map<string, StoredBlock>()
    try {
      for await (const block of this.read(listed, (one) => lost.set(one.blockId, one))) {
        blocks.set(block.blockId, block)
      }
    } catch (error) {
      // What is wrong with one block must not fail the searches for others.
      if (listed.length === 1) return [{ error }]
      return Promise.all(listed.map((one) => this.readAlone(one)))
    }
    return listed.map((one) => {
      const missing = lost.get(one.block_id)
      if (missing !== undefined) return { lost: missing }
      const block = blocks.get(one.block_id)
      return { block: block === undefined ? null : this.keep(one, block) }
    })
  }

  private async readAlone(listed: ListedBlock): Promise<Outcome> {
    const [outcome = { block: null }] = await this.readAll([listed])
    return outcome
  }

  private keep(listed: ListedBlock, read: StoredBlock): StoredBlock {
    const block = { ...read, data: detach(read.data), sources: detach(read.sources) }
    const size =
      block.data.length +
      OPENED_FACTOR * block.rawBytes +
      DEPLOYMENT_BYTES * (block.deploymentCount + 1)
    // The row can have changed since it was listed; what is damaged can be restored.
    const isAsListed = block.checksum === listed.checksum
    if (isAsListed && areSourcesWhole(block)) this.cache.set(cacheName(block), block, { size })
    return block
  }
}

/** Written into the statement: without a parameter the driver saves a round trip, see `listRows`. */
function writeMoment(ms: number): SQL {
  return sql.raw(`'${momentText(ms)}'::timestamptz`)
}
