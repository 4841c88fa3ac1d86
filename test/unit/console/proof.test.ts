import { generateKeyPairSync, sign } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkProof } from '../../../src/console/app/pages/dossier/proof.ts'

const NAME = 'log.lender.example'
/** An algorithm's number stands before the key. */
const ED25519 = 1

function makeKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return { privateKey, encoded: Buffer.from([ED25519, ...raw]).toString('base64') }
}

/** A key whose text has a plus sign or not. */
function makeKeyThat(hasPlus: boolean) {
  for (;;) {
    const key = makeKey()
    if (key.encoded.includes('+') === hasPlus) return key
  }
}

// Half of all keys have a plus sign, which also parts a verifier key.
test.each([true, false])(
  'a checkpoint is signed with a key whose plus sign is there: %s',
  async (hasPlus) => {
    const { privateKey, encoded } = makeKeyThat(hasPlus)
    const text = `${NAME}\n1\n${Buffer.alloc(32).toString('base64')}\n`
    const signature = Buffer.concat([Buffer.alloc(4), sign(null, Buffer.from(text), privateKey)])
    const proof = {
      leaf: Buffer.from('{}').toString('base64'),
      block: { index: 0, size: 1, sequence: 0, path: [] },
      tree: { index: 0, size: 1, path: [] },
      checkpoint: `${text}\n— ${NAME} ${signature.toString('base64')}\n`,
    } as unknown as Parameters<typeof checkProof>[0]
    const check = (key: string) => checkProof(proof, `${NAME}+00000000+${key}`)
    expect((await check(encoded)).isSigned).toBe(true)
    expect((await check(makeKeyThat(hasPlus).encoded)).isSigned).toBe(false)
  },
)
