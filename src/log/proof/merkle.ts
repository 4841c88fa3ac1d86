import { hash } from 'node:crypto'

export const HASH_BYTES = 32
const LEAF = Buffer.of(0)
/** The bytes of a node: 1, then its two children. A drain hashes one for each score. */
const nodeBytes = Buffer.alloc(1 + 2 * HASH_BYTES, 1)

/** A part of a tree: the leaves from `start` to before `end`. */
export type LeafRange = readonly [start: number, end: number]

/**
 * Hash of a leaf.
 *
 * @source RFC 9162, section 2.1.1
 */
export function leafHash(data: Uint8Array): Buffer {
  return sha256(Buffer.concat([LEAF, data]))
}

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  nodeBytes.set(left, 1)
  nodeBytes.set(right, 1 + HASH_BYTES)
  return sha256(nodeBytes)
}

/** A digest as text takes Node a quarter of the time of one as a buffer. */
export function sha256Text(data: Uint8Array): string {
  return hash('sha256', data, 'binary')
}

function sha256(data: Uint8Array): Buffer {
  return Buffer.from(sha256Text(data), 'latin1')
}

/** Root of a tree without leaves. */
export function emptyRoot(): Buffer {
  return hash('sha256', '', 'buffer')
}

/** The largest power of two below a number above 1. */
export function readSplit(leaves: number): number {
  let split = 1
  while (split * 2 < leaves) split *= 2
  return split
}

export function computeRoot(
  leaves: readonly Buffer[],
  [start, end]: LeafRange = [0, leaves.length],
): Buffer {
  if (end - start === 0) return emptyRoot()
  if (end - start === 1) return leaves[start] ?? emptyRoot()
  const split = start + readSplit(end - start)
  return nodeHash(computeRoot(leaves, [start, split]), computeRoot(leaves, [split, end]))
}

/**
 * As `computeRoot`, over hashes that stand one after the other and are overwritten. Level by level, the
 * last of an odd number goes up as it is: that is the same tree.
 */
export function rootInPlace(hashes: Buffer): Buffer {
  let nodes = hashes.length / HASH_BYTES
  if (nodes === 0) return emptyRoot()
  while (nodes > 1) {
    const pairs = Math.floor(nodes / 2)
    for (let pair = 0; pair < pairs; pair++) {
      const children = 2 * HASH_BYTES * pair
      hashes.copy(nodeBytes, 1, children, children + 2 * HASH_BYTES)
      hashes.write(sha256Text(nodeBytes), HASH_BYTES * pair, 'latin1')
    }
    if (nodes % 2 === 1) {
      hashes.copyWithin(HASH_BYTES * pairs, HASH_BYTES * (nodes - 1), HASH_BYTES * nodes)
    }
    nodes = Math.ceil(nodes / 2)
  }
  return Buffer.from(hashes.subarray(0, HASH_BYTES))
}

/**
 * The parts of a tree whose roots prove that it holds a leaf, from the leaf upwards.
 *
 * @source RFC 9162, section 2.1.3.1
 */
export function inclusionRanges(index: number, [start, end]: LeafRange): LeafRange[] {
  if (end - start <= 1) return []
  const split = readSplit(end - start)
  const middle = start + split
  return index < split
    ? [...inclusionRanges(index, [start, middle]), [middle, end]]
    : [...inclusionRanges(index - split, [middle, end]), [start, middle]]
}

/**
 * The root that a proof of inclusion leads to.
 *
 * @param leaf its hash
 * @param path the roots of `inclusionRanges`
 */
export function rootFromPath(
  leaf: Buffer,
  { index, size }: { readonly index: number; readonly size: number },
  path: readonly Buffer[],
): Buffer {
  if (size <= 1) return leaf
  const split = readSplit(size)
  const sibling = path.at(-1) ?? emptyRoot()
  const rest = path.slice(0, -1)
  if (index < split) return nodeHash(rootFromPath(leaf, { index, size: split }, rest), sibling)
  const place = { index: index - split, size: size - split }
  return nodeHash(sibling, rootFromPath(leaf, place, rest))
}

/**
 * The parts of a tree whose roots prove that it began as the tree of its first `from` leaves.
 *
 * @param from above 0, at most `to`
 * @source RFC 9162, section 2.1.4.1
 */
export function consistencyRanges(from: number, to: number): LeafRange[] {
  return subProof(from, [0, to], true)
}

function subProof(from: number, [start, end]: LeafRange, isWhole: boolean): LeafRange[] {
  const leaves = end - start
  if (from === leaves) return isWhole ? [] : [[start, end]]
  const split = readSplit(leaves)
  const middle = start + split
  return from <= split
    ? [...subProof(from, [start, middle], isWhole), [middle, end]]
    : [...subProof(from - split, [middle, end], false), [start, middle]]
}

/**
 * The two roots that a proof of consistency leads to.
 *
 * @param earlier root of the first `from` leaves, for where the proof leaves it out
 * @param path the roots of `consistencyRanges`
 */
export function rootsFromPath(
  { from, to }: { readonly from: number; readonly to: number },
  earlier: Buffer,
  path: readonly Buffer[],
): { readonly earlier: Buffer; readonly later: Buffer } {
  const last = path.at(-1)
  if (from === to) return { earlier: last ?? earlier, later: last ?? earlier }
  const split = readSplit(to)
  const sibling = last ?? emptyRoot()
  const rest = path.slice(0, -1)
  if (from <= split) {
    const left = rootsFromPath({ from, to: split }, earlier, rest)
    return { earlier: left.earlier, later: nodeHash(left.later, sibling) }
  }
  const right = rootsFromPath({ from: from - split, to: to - split }, earlier, rest)
  return { earlier: nodeHash(sibling, right.earlier), later: nodeHash(sibling, right.later) }
}

/** The root of a complete part of a growing tree: 2^level leaves, the `position`-th such part. */
export interface TreeNode {
  readonly level: number
  readonly position: number
  readonly hash: Buffer
}

/** Each such level is stored, so that no proof reads more than a few hundred rows. */
export const STORED_LEVELS = 8

/**
 * The right edge of a growing tree: the roots of its complete parts, the largest first. It is all
 * that adding a leaf needs.
 */
export class TreeEdge {
  private readonly hashes: Buffer[]
  private leaves: number

  /** @param bytes as `bytes` gives them */
  constructor(size = 0, bytes: Buffer = Buffer.alloc(0)) {
    this.leaves = size
    this.hashes = Array.from({ length: bytes.length / HASH_BYTES }, (_, index) =>
      Buffer.from(bytes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES)),
    )
  }

  get size(): number {
    return this.leaves
  }

  get bytes(): Buffer {
    return Buffer.concat(this.hashes)
  }

  get root(): Buffer {
    const last = this.hashes.at(-1)
    if (last === undefined) return emptyRoot()
    return this.hashes.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last)
  }

  /** Adds a leaf. @returns the parts that it completes, of stored levels above 0 */
  add(hash: Buffer): TreeNode[] {
    const completed: TreeNode[] = []
    let own = hash
    let level = 0
    let rest = this.leaves
    while (rest % 2 === 1) {
      own = nodeHash(this.hashes.pop() ?? emptyRoot(), own)
      level++
      rest = (rest - 1) / 2
      if (level % STORED_LEVELS === 0) completed.push({ level, position: rest, hash: own })
    }
    this.hashes.push(own)
    this.leaves++
    return completed
  }
}
