import { Type } from '@sinclair/typebox'

const Hash = Type.String({ pattern: '^[0-9a-f]{64}$', description: 'SHA-256 in hex' })
const Path = Type.Array(Hash, { description: 'From the leaf upwards, as in RFC 9162' })
const size = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })

export const ProofQuery = Type.Object(
  {
    record: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Index of the record; required for a batch' }),
    ),
  },
  { additionalProperties: false },
)

const SignedNote = Type.String({
  description: 'Signed note of C2SP with a checkpoint: origin, size and root, signed with Ed25519',
})

export const BlockProof = Type.Object(
  {
    sequence: Type.Integer({ description: 'Number of the drained block in the tree, from 0' }),
    index: Type.Integer({ description: 'Index of the leaf in the block' }),
    size: Type.Integer({ description: 'Number of leaves in the block' }),
    path: Path,
  },
  { description: 'Leads from the leaf to the root of its drained block' },
)

export const TreeProof = Type.Object(
  { index: Type.Integer(), size: Type.Integer(), path: Path },
  { description: 'Leads from the root of the block, as a leaf, to the root of the tree' },
)

export const ScoreProof = Type.Object({
  leaf: Type.String({
    description: 'Base64 of JSON (RFC 8785): what the tree holds of the applicant',
  }),
  block: BlockProof,
  tree: TreeProof,
  checkpoint: SignedNote,
})

export const Checkpoint = Type.Object({
  origin: Type.String({ description: 'Name of the tree: one for each team' }),
  size: Type.Integer({ description: 'Number of drained blocks' }),
  root: Hash,
  checkpoint: SignedNote,
  facts: Type.Union([Type.String(), Type.Null()], {
    description:
      'Signed note over what the tree does not cover: applicants and start of each block. Null before the first block',
  }),
})

export const ConsistencyQuery = Type.Object(
  {
    from: size('Size of the older checkpoint'),
    to: size('Size of the newer checkpoint'),
  },
  { additionalProperties: false },
)

export const Consistency = Type.Object({
  from: Type.Integer(),
  to: Type.Integer(),
  path: Type.Array(Hash, { description: 'As in RFC 9162; empty where the sizes are equal' }),
})

export const VerifierKey = Type.Object({
  key: Type.String({ description: 'Verifier key of C2SP signed notes: name, key id, key' }),
})
