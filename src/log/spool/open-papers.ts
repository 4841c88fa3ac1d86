import { join } from 'node:path'
import {
  type Cursor,
  HEAD_BYTES,
  newIdentity,
  readHead,
  readIdentity,
  START,
  type StoredCursor,
  segmentName,
  startIn,
  writeIdentity,
} from './spool-papers.ts'

/** Something in a spool directory that is not as this service has written it. */
export interface SpoolDamage {
  /** `lost`: records that were not drained are not on the disk any more. */
  readonly part: 'identity' | 'cursor' | 'head' | 'lost'
  readonly directory: string
  /** Absent for what belongs to the whole directory. */
  readonly segment?: number
  /** Length of what is lost, as far as it is known. */
  readonly bytes?: number
}

interface OpenedPapers {
  readonly identity: string
  readonly at: Cursor
  readonly damages: readonly SpoolDamage[]
  /** Numbers of files whose head names another spool or number: somebody has put them there. */
  readonly foreign: readonly number[]
}

/** A directory of segments, and the files that are in it. */
interface Directory {
  readonly path: string
  readonly name: string
  readonly files: readonly { readonly number: number; readonly bytes: number }[]
}

const IDENTITY_FILE = 'identity'

/**
 * Reads what a directory says of itself. Its identity stands in a file of its own, in the cursor
 * and in the head of each segment. What a head and one of the other two say counts, else what most
 * of the heads say, as they lie with the records, and without them what the other two say; the file
 * is written anew. So neither a damaged file nor one of another directory makes the database take the
 * records for others: it would store them a second time, or pass over them. A cursor of another
 * directory is no cursor, and a segment of another one is not drained with those of this one.
 *
 * @param written null if it is damaged: the database knows how far the directory is drained
 */
export function openPapers(
  { path, name: directory, files }: Directory,
  written: StoredCursor | null,
): OpenedPapers {
  const damages: SpoolDamage[] = []
  const file = join(path, IDENTITY_FILE)
  const own = readIdentity(file)
  const isNew = files.length === 0 && written === null && own === null
  const found = files.map((file) => ({
    file,
    head: readHead(join(path, segmentName(file.number))),
  }))
  const inHeads = found.flatMap(({ head }) => head?.identity ?? [])
  const said = [written?.identity, own].find((one) => one != null && inHeads.includes(one))
  const identity = said ?? mostFrequent(inHeads) ?? written?.identity ?? own ?? newIdentity()
  const isOfSpool = ({ file, head }: (typeof found)[number]) =>
    head === null || (head.identity === identity && head.number === file.number)
  const ofSpool = found.filter(isOfSpool)
  for (const { file, head } of ofSpool) {
    if (head !== null || file.bytes <= HEAD_BYTES) continue
    damages.push({ part: 'head', directory, segment: file.number })
  }
  const cursor = written?.identity === identity ? written : null
  if (cursor === null && !isNew) damages.push({ part: 'cursor', directory })
  if (!isNew && own !== identity) damages.push({ part: 'identity', directory })
  if (own !== identity) writeIdentity(file, identity)
  const ends = [cursor?.end, ...ofSpool.map(({ head }) => head?.previous)].filter(
    (end) => end != null,
  )
  const ownFiles = ofSpool.map(({ file }) => file)
  const first = cursor === null ? ownFiles[0]?.number : cursor.at.segment
  const at = cursor?.at ?? START
  const lost = first === undefined ? [] : lostParts({ directory, files: ownFiles, at, ends, first })
  damages.push(...lost)
  const foreign = found.filter((one) => !isOfSpool(one)).map(({ file }) => file.number)
  return { identity, at, damages, foreign }
}

interface Ends {
  readonly directory: string
  readonly files: Directory['files']
  readonly at: Cursor
  /** Ends of segments, as of some time; they can be longer by now. */
  readonly ends: readonly Cursor[]
  /** The first segment of which the disk should have something. */
  readonly first: number
}

/** Compares the files behind the drained records with where they ended. */
function lostParts({ directory, files, at, ends, first }: Ends): SpoolDamage[] {
  const bytesOf = new Map(files.map(({ number, bytes }) => [number, bytes]))
  const endOf = new Map<number, number>()
  for (const { segment, offset } of ends) {
    endOf.set(segment, Math.max(offset, endOf.get(segment) ?? 0))
  }
  const last = Math.max(at.segment, ...endOf.keys(), ...bytesOf.keys())
  const lost: SpoolDamage[] = []
  for (let segment = Math.max(1, first); segment <= last; segment++) {
    const there = bytesOf.get(segment)
    const from = segment === at.segment ? startIn(at) : HEAD_BYTES
    const end = endOf.get(segment)
    const bytes = (end ?? from) - Math.max(from, there ?? 0)
    if (bytes > 0) lost.push({ part: 'lost', directory, segment, bytes })
    else if (there === undefined && end === undefined && segment > at.segment) {
      lost.push({ part: 'lost', directory, segment })
    }
  }
  return lost
}

function mostFrequent(texts: readonly string[]): string | null {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  const [most] = [...counts].sort(([, one], [, other]) => other - one)
  return most?.[0] ?? null
}

/** Why bytes of a segment are set aside at a start. */
export const TORN = 'the spool ended within a record, which was cut off'
export const FOREIGN =
  'the segment is of another spool: `scoreline spool restore` stores what the log lacks of it'

type Report = (facts: Readonly<Record<string, unknown>>, text: string) => void

const DAMAGES: Readonly<Record<SpoolDamage['part'], string>> = {
  identity: 'the identity of a spool was damaged, and is restored from its other files',
  cursor: 'the cursor of a spool is damaged: the database knows how far it is drained',
  head: 'the head of a segment of a spool is damaged: its records are read all the same',
  lost: 'records of answered scores were taken from a spool before they were drained',
}

/** Faults that an operator should look into, since the start: each is an error in the log. */
export class SpoolFaults {
  private readonly report: Report
  /** Damages that were found: `lost` at any time, the others in spools of ended processes. */
  readonly damages: Record<SpoolDamage['part'], number> = {
    identity: 0,
    cursor: 0,
    head: 0,
    lost: 0,
  }
  /** Number of times that the database lacked records that the spool did not keep any more. */
  lacking = 0

  constructor(report: Report) {
    this.report = report
  }

  note(facts: Readonly<Record<string, unknown>>, text: string): void {
    this.report(facts, text)
  }

  noteDamages(damages: readonly SpoolDamage[]): void {
    for (const { part, ...place } of damages) {
      this.damages[part]++
      this.note(place, DAMAGES[part])
    }
  }

  noteLacking(facts: Readonly<Record<string, unknown>>): void {
    this.lacking++
    this.note(facts, 'the database lacks records that the spool no longer keeps')
  }
}
