import { expect, test } from 'vitest'
import { CheckpointSigner } from '../../../../src/log/proof/checkpoint.ts'

const STATE = { origin: 'scoreline/team_1', size: 7, root: Buffer.alloc(32, 1) }
const former = 'the secret before, long enough for all'
const current = 'the secret of today, long enough for all'

test('a checkpoint is read by the signer that made it, and by no other', () => {
  const note = new CheckpointSigner(current, null).checkpoint(STATE)
  expect(new CheckpointSigner(current, null).read(note)).toEqual(STATE)
  expect(new CheckpointSigner(former, null).read(note)).toBeNull()
  expect(new CheckpointSigner(current, null).read(note.replace('\n7\n', '\n8\n'))).toBeNull()
})

// Whoever holds the former key must be able to follow, and kept checkpoints must stay of use.
test('while the secret is rotated, both keys sign, and checkpoints of each are read', () => {
  const before = new CheckpointSigner(former, null)
  const during = new CheckpointSigner(current, former)
  const after = new CheckpointSigner(current, null)
  expect(during.read(before.checkpoint(STATE))).toEqual(STATE)
  const note = during.checkpoint(STATE)
  expect(note.match(/^— /gm)).toHaveLength(2)
  expect(before.read(note)).toEqual(STATE)
  expect(after.read(note)).toEqual(STATE)
  expect(during.verifierKey(STATE.origin)).toBe(after.verifierKey(STATE.origin))
})
