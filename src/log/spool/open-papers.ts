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
 * and in the head of each segment. What most of the heads say counts, as they lie with the records,
 * and without them what the other two say; the file is written anew. So neither a damaged file nor
 * one of another directory makes the database take the records for others: it would store them a
 * second time, or pass over them. A cursor of another directory is no cursor.
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
  const heads = files.map(({ number, bytes }) => {
    const head = readHead(join(path, segmentName(number)))
    if (head?.number === number) return head
    if (bytes > HEAD_BYTES) damages.push({ part: 'head', directory, segment: number })
    return null
  })
  const inHeads = heads.flatMap((head) => head?.identity ?? [])
  const identity = mostFrequent(inHeads) ?? written?.identity ?? own ?? newIdentity()
  const cursor = written?.identity === identity ? written : null
  if (cursor === null && !isNew) damages.push({ part: 'cursor', directory })
  if (!isNew && (own !== identity || inHeads.some((one) => one !== identity))) {
    damages.push({ part: 'identity', directory })
  }
  if (own !== identity) writeIdentity(file, identity)
  const ends = [cursor?.end, ...heads.map((head) => head?.previous)].filter((end) => end != null)
  const first = cursor === null ? files[0]?.number : cursor.at.segment
  const at = cursor?.at ?? START
  if (first !== undefined) damages.push(...lostParts({ directory, files, at, ends, first }))
  return { identity, at, damages }
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
