import { type Static, Type } from '@sinclair/typebox'
import { Environment, listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import { JobProgress, JobStatus } from './jobs.ts'

/** Forms of files of applicants, and of results. */
export const BATCH_FORMATS = ['ndjson', 'csv', 'parquet'] as const

export const BatchFormat = Type.Unsafe<(typeof BATCH_FORMATS)[number]>(
  Type.String({
    enum: [...BATCH_FORMATS],
    description:
      'Form of a file. Where one is left out: of results, that of the file; of a file, that of the ending of its path',
  }),
)

const describedText = (description: string) => ({ ...plainText({ charsMax: 200 }), description })

const OPTIONS = {
  results: Type.Optional(BatchFormat),
  id_field: Type.Optional(
    describedText(
      'Column or property with the reference of an applicant, for the results and the log; `id` when left out',
    ),
  ),
  strict_mode: Type.Optional(
    Type.Boolean({
      description:
        'Puts applicants with a missing feature or an unknown variable among the errors. A CSV or Parquet file with an unknown column is refused',
    }),
  ),
  include_contributions: Type.Optional(
    Type.Boolean({ description: 'Adds the points of each feature to each result' }),
  ),
  routing_key: Type.Optional(
    describedText(
      'Draws the model of a live split, which scores the whole file; the id of the batch when left out',
    ),
  ),
}

/** A file of the team's folder. */
export const BatchSource = Type.Object(
  {
    path: Type.String({
      minLength: 1,
      maxLength: 900,
      description:
        'Name of the file in the folder of the team, which is the id of the team in the store of `BATCH_STORE`; with `/` between its parts',
    }),
    format: Type.Optional(BatchFormat),
  },
  { additionalProperties: false },
)

/** Starts a batch with a file of the team's folder. */
export const StartBatchRequest = Type.Object(
  {
    deployment: Type.String({ description: 'Slug of the deployment' }),
    input: BatchSource,
    ...OPTIONS,
  },
  { additionalProperties: false },
)

/** Options of an upload, in the query, where every value is a text. */
export const UploadBatchQuery = Type.Object(
  {
    deployment: Type.String({ description: 'Slug of the deployment' }),
    name: Type.Optional({
      ...plainText({ charsMax: 255 }),
      description: 'Name of the file, by which people know the batch again',
    }),
    ...OPTIONS,
  },
  { additionalProperties: false },
)
export type UploadBatchQuery = Static<typeof UploadBatchQuery>

export const BatchesQuery = listQuery({})

const nullable = <T extends ReturnType<typeof Type.String>>(type: T) =>
  Type.Union([type, Type.Null()])

export const BatchInput = Type.Object({
  format: BatchFormat,
  bytes: Type.Integer(),
  path: nullable(Type.String({ description: 'Null for an upload' })),
  name: nullable(Type.String({ description: 'Of an upload, as its sender gave it' })),
})

export const BatchResults = Type.Object({
  format: BatchFormat,
  parts: Type.Integer({ description: 'Parts that are stored' }),
  bytes: Type.Integer({ description: 'Bytes of the parts and of the errors' }),
  path: nullable(
    Type.String({
      description:
        'Folder beside the file with `results-000001` and so on, and `errors-…`; null for an upload',
    }),
  ),
})

export const BatchCounts = Type.Object({
  scored: Type.Integer(),
  errors: Type.Integer({ description: 'Lines that were put apart' }),
  warned: Type.Integer({ description: 'Scored applicants with a warning' }),
})

export const UnmatchedFeature = Type.Object({
  feature: Type.String(),
  values: Type.Integer({ description: 'Scored applicants whose value matches no bin' }),
})

export const Batch = Type.Object({
  id: Type.String({ description: 'Id of the batch, and of its job' }),
  status: JobStatus,
  deployment_id: Type.String(),
  environment: Environment,
  cache_version: Type.Integer({
    description: 'The state of the deployment that scores the whole file',
  }),
  champion_model_id: Type.String(),
  input: BatchInput,
  results: BatchResults,
  id_field: Type.String(),
  strict_mode: Type.Boolean(),
  include_contributions: Type.Boolean(),
  routing_key: nullable(Type.String()),
  counts: BatchCounts,
  unmatched: Type.Array(UnmatchedFeature, {
    description: 'Features with such values, the most first, at most 100',
  }),
  warnings: Type.Array(Type.Object({ path: Type.String(), message: Type.String() }), {
    description:
      'One for each feature of which more than one value in a hundred matches no bin, at most 100',
  }),
  unknown_columns: Type.Array(Type.String(), {
    description:
      'The first 100 columns of a CSV or Parquet file that are no feature of any model: left out',
  }),
  more_unknown_columns: Type.Integer({ description: 'How many more there are' }),
  progress: JobProgress,
  created_by: Type.String({ description: 'Id of a user or a key' }),
  created_at: Timestamp,
  finished_at: Type.Union([Timestamp, Type.Null()]),
  error: Type.Optional(
    Type.String({
      description:
        'Code of the error of a failed batch; of one that the service cancelled, `key_revoked` or `deployment_inactive`',
    }),
  ),
  message: Type.Optional(
    Type.String({ description: 'Why the batch failed, or what it waits for' }),
  ),
})

export const BatchList = Type.Object({ batches: Type.Array(Batch), next_cursor: NextCursor })
