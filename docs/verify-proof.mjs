#!/usr/bin/env node
// Checks a proof of Scoreline offline. It needs Node 18 or later and nothing else:
//
//   node verify-proof.mjs proof.json VERIFIER_KEY
//   node verify-proof.mjs consistency.json VERIFIER_KEY older-checkpoint newer-checkpoint
//
// proof.json is the answer of GET /v1/scores/{request_id}/proof, consistency.json that of
// GET /v1/log/consistency, VERIFIER_KEY the key of GET /v1/log/key, which you have kept from before,
// and a checkpoint is a file with the field `checkpoint` of GET /v1/log/checkpoint. It exits with 0
// if all is right, else with 1 and the reason. Hashes and proofs are those of RFC 9162.
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'

const sha256 = (...parts) => createHash('sha256').update(Buffer.concat(parts)).digest()
const leafHash = (data) => sha256(Buffer.of(0), data)
const nodeHash = (left, right) => sha256(Buffer.of(1), left, right)

function fail(reason) {
  throw new Error(reason)
}

function hashes(list, what) {
  if (!Array.isArray(list)) fail(`${what} has no path`)
  return list.map((text) =>
    /^[0-9a-f]{64}$/.test(text)
      ? Buffer.from(text, 'hex')
      : fail(`${what} has a hash that is none`),
  )
}

/** RFC 9162, section 2.1.3.2: the root that a leaf and its path lead to. */
function rootOf(leaf, index, size, path) {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size)
    fail('an index is outside of its tree')
  let fn = BigInt(index)
  let sn = BigInt(size) - 1n
  let root = leaf
  for (const hash of path) {
    if (sn === 0n) fail('a path is too long')
    if (fn % 2n === 1n || fn === sn) {
      root = nodeHash(hash, root)
      while (fn % 2n === 0n && fn !== 0n) {
        fn /= 2n
        sn /= 2n
      }
    } else root = nodeHash(root, hash)
    fn /= 2n
    sn /= 2n
  }
  if (sn !== 0n) fail('a path is too short')
  return root
}

/** RFC 9162, section 2.1.4.2: whether one tree began as the other. */
function checkConsistency(older, newer, path) {
  if (older.size > newer.size) fail('the older checkpoint is larger')
  if (older.size === newer.size) {
    if (path.length > 0 || !older.root.equals(newer.root))
      fail('two checkpoints of one size differ')
    return
  }
  if (older.size === 0) return
  let fn = BigInt(older.size) - 1n
  let sn = BigInt(newer.size) - 1n
  while (fn % 2n === 1n) {
    fn /= 2n
    sn /= 2n
  }
  const isPowerOfTwo = fn === 0n
  const rest = isPowerOfTwo ? [older.root, ...path] : [...path]
  let fr = rest.shift() ?? fail('the path is too short')
  let sr = fr
  for (const hash of rest) {
    if (sn === 0n) fail('the path is too long')
    if (fn % 2n === 1n || fn === sn) {
      fr = nodeHash(hash, fr)
      sr = nodeHash(hash, sr)
      while (fn % 2n === 0n && fn !== 0n) {
        fn /= 2n
        sn /= 2n
      }
    } else sr = nodeHash(sr, hash)
    fn /= 2n
    sn /= 2n
  }
  if (sn !== 0n) fail('the path is too short')
  if (!fr.equals(older.root) || !sr.equals(newer.root))
    fail('the newer log did not begin as the older one')
}

/** C2SP signed-note and tlog-checkpoint. */
function readCheckpoint(note, verifierKey) {
  const [, name, id, encoded] =
    /^([^+\s]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(verifierKey.trim()) ??
    fail('the verifier key is none')
  const key = Buffer.from(encoded, 'base64')
  if (key.length !== 33 || key[0] !== 1) fail('the verifier key is not one of Ed25519')
  const keyId = sha256(Buffer.from(`${name}\n`), key).subarray(0, 4)
  if (keyId.toString('hex') !== id) fail('the verifier key has another id')
  const end = note.lastIndexOf('\n\n') + 1
  if (end === 0) fail('the checkpoint is no signed note')
  const text = note.slice(0, end)
  const spki = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key.subarray(1)])
  const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' })
  const isSigned = note
    .slice(end + 1)
    .split('\n')
    .some((line) => {
      const [, signer, signature = ''] = /^— (\S+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? []
      const bytes = Buffer.from(signature, 'base64')
      return (
        signer === name &&
        bytes.toString('base64') === signature &&
        bytes.subarray(0, 4).equals(keyId) &&
        verify(null, Buffer.from(text), publicKey, bytes.subarray(4))
      )
    })
  if (!isSigned) fail('the checkpoint is not signed with this key')
  const [origin, size, root] = text.split('\n')
  if (origin !== name) fail('the checkpoint is of another log')
  if (!/^(0|[1-9]\d{0,15})$/.test(size)) fail('the checkpoint has no size')
  return { origin, size: Number(size), root: Buffer.from(root, 'base64') }
}

function checkProof(proof, verifierKey) {
  const leaf = Buffer.from(proof.leaf, 'base64')
  if (leaf.toString('base64') !== proof.leaf) fail('the leaf is no base64')
  const { block, tree } = proof
  const checkpoint = readCheckpoint(proof.checkpoint, verifierKey)
  if (tree.size !== checkpoint.size) fail('the proof is for another size than its checkpoint')
  if (tree.index !== block.sequence) fail('the block has another place in the tree')
  const blockRoot = rootOf(leafHash(leaf), block.index, block.size, hashes(block.path, 'the block'))
  const root = rootOf(leafHash(blockRoot), tree.index, tree.size, hashes(tree.path, 'the tree'))
  if (!root.equals(checkpoint.root)) fail('the record is not in the log of the checkpoint')
  return `In ${checkpoint.origin} with ${checkpoint.size} blocks:\n${JSON.stringify(JSON.parse(leaf), null, 2)}`
}

try {
  const [file, key, older, newer] = process.argv.slice(2)
  if (file === undefined || key === undefined)
    fail('usage: verify-proof.mjs FILE VERIFIER_KEY [OLDER NEWER]')
  const document = JSON.parse(readFileSync(file, 'utf8'))
  if (older === undefined) console.log(checkProof(document, key))
  else {
    const [first, last] = [older, newer].map((path) =>
      readCheckpoint(readFileSync(path, 'utf8'), key),
    )
    if (document.from !== first.size || document.to !== last.size)
      fail('the proof is for other sizes')
    checkConsistency(first, last, hashes(document.path, 'the proof'))
    console.log(`The log of ${last.size} blocks began as the log of ${first.size}.`)
  }
} catch (error) {
  console.error(`Not proved: ${error.message}.`)
  process.exitCode = 1
}
