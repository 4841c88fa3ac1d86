import { EXAMPLE_REQUEST_ID } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const HASH = '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d'
const ORIGIN = 'scoreline/team_0VLGfZ5pQd7HnCz3LkWr8t'
const NOTE = `${ORIGIN}\n2\nbjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=\n\n— ${ORIGIN} …\n`

export const PROOF_DOCS = {
  'scores.proof': {
    tag: 'Score log',
    summary: 'Prove a score',
    description:
      'Proves that the score log of the team holds the result of an applicant: a path from the record to the root of its drained block, a path from there to the root of the tree, and a signed checkpoint with that root. `docs/verify-proof.mjs` checks all of it offline. It proves little without a checkpoint that was kept elsewhere before. A score that is not in the database yet is 503, and can be proved within seconds. Two proofs are made at a time in a process and eight wait; further ones are 503.',
    params: {
      request_id: {
        description: 'The `request_id` of the scoring response',
        example: EXAMPLE_REQUEST_ID,
      },
    },
    errors: ['score_not_found'],
    success: {
      description: 'The proof',
      example: {
        leaf: 'eyJidWNrZXQiOm51bGws…',
        block: { sequence: 1, index: 0, size: 1, path: [] },
        tree: { index: 1, size: 2, path: [HASH] },
        checkpoint: NOTE,
      },
    },
  },
  'log.checkpoint': {
    tag: 'Score log',
    summary: 'Show the signed state of the log',
    description:
      'The present size and root of the tree over the drained blocks of the team, signed. Keep the answers outside of the service: two of them, and a consistency proof, show that nothing was changed or removed between. `facts` signs how many applicants each block had and when it began, so that `scoreline log verify` finds a block that was deleted before its retention.',
    success: {
      description: 'The checkpoint',
      example: {
        origin: ORIGIN,
        size: 2,
        root: HASH,
        checkpoint: NOTE,
        facts: NOTE.replaceAll(ORIGIN, `${ORIGIN}/facts`),
      },
    },
  },
  'log.consistency': {
    tag: 'Score log',
    summary: 'Prove that the log only grew',
    description:
      'Proves that the tree of the newer checkpoint began as that of the older one, as RFC 9162 defines it.',
    query: { from: '0', to: '0' },
    success: { description: 'The proof', example: { from: 0, to: 0, path: [] } },
  },
  'log.key': {
    tag: 'Score log',
    summary: 'Show the key of the checkpoints',
    description:
      'The public key that verifies the checkpoints of the team. Fetch it once and keep it: whoever asks for it with each proof believes whoever answers.',
    success: { description: 'The key', example: { key: `${ORIGIN}+33d7b496+Aa4b…` } },
  },
} as const satisfies Record<string, OperationDoc>
