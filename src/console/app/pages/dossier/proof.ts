import type { Schemas } from '../../api/types.ts'

type Proof = Schemas['ScoreProof']

export interface Checked {
  /** The applicant's entry in the tree. */
  readonly leaf: Readonly<Record<string, unknown>>
  /** True if leaf and paths lead to the root of the checkpoint. */
  readonly isIncluded: boolean
  /** True if the key signed the checkpoint; null where the browser knows no Ed25519. */
  readonly isSigned: boolean | null
  readonly origin: string
}

type Bytes = Uint8Array<ArrayBuffer>

function decodeBase64(base64: string): Bytes {
  return Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))
}

function encodeHex(bytes: Bytes): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

function unhex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
}

async function hash(prefix: number, ...parts: readonly Bytes[]): Promise<Bytes> {
  const all = new Uint8Array([prefix, ...parts.flatMap((part) => [...part])])
  return new Uint8Array(await crypto.subtle.digest('SHA-256', all))
}

/** RFC 9162, section 2.1.3.2: the root that a leaf and its path lead to; null if none. */
async function computeRoot(
  data: Bytes,
  { index, size, path }: { index: number; size: number; path: readonly string[] },
): Promise<Bytes | null> {
  if (index >= size) return null
  let [place, last] = [index, size - 1]
  let root = await hash(0, data)
  for (const text of path) {
    if (last === 0) return null
    const other = unhex(text)
    if (place % 2 === 1 || place === last) {
      root = await hash(1, other, root)
      while (place % 2 === 0 && place !== 0) {
        place /= 2
        last = Math.floor(last / 2)
      }
    } else root = await hash(1, root, other)
    place = Math.floor(place / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 ? root : null
}

/** Checks a proof as `docs/verify-proof.mjs` does, in the browser. */
export async function checkProof(proof: Proof, verifierKey: string): Promise<Checked> {
  const leaf = decodeBase64(proof.leaf)
  const { block, tree, checkpoint } = proof
  const [origin = '', size = '', root = ''] = checkpoint.split('\n')
  const blockRoot = await computeRoot(leaf, block)
  const found = blockRoot === null ? null : await computeRoot(blockRoot, tree)
  return {
    leaf: JSON.parse(new TextDecoder().decode(leaf)),
    isIncluded:
      found !== null &&
      tree.index === block.sequence &&
      String(tree.size) === size &&
      encodeHex(found) === encodeHex(decodeBase64(root)),
    isSigned: await isSignedBy(checkpoint, verifierKey),
    origin,
  }
}

/** C2SP signed note: a line of a key id of 4 bytes and a signature of Ed25519. */
async function isSignedBy(note: string, verifierKey: string): Promise<boolean | null> {
  const end = note.lastIndexOf('\n\n') + 1
  // The key itself is base64, which has a plus sign every now and then.
  const [name, , ...parts] = verifierKey.trim().split('+')
  const encoded = parts.join('+')
  const line = note
    .slice(end + 1)
    .split('\n')
    .find((one) => one.startsWith(`— ${name} `))
  const key = decodeBase64(encoded)
  if (end === 0 || line === undefined || key.length !== 33) return false
  const signature = decodeBase64(line.split(' ').at(-1) ?? '').slice(4)
  try {
    const algorithm = { name: 'Ed25519' }
    const imported = await crypto.subtle.importKey('raw', key.slice(1), algorithm, false, [
      'verify',
    ])
    const text = new TextEncoder().encode(note.slice(0, end))
    return await crypto.subtle.verify(algorithm, imported, signature, text)
  } catch {
    return null
  }
}

/** Tells whether the points, added in the order of the card, are the score to the bit. */
export function isRecomputed({ score, base_points: base, features }: Schemas['LoggedResult']) {
  if (score === null || base === null) return false
  return features.reduce((sum, { points }) => sum + points, base) === score
}
