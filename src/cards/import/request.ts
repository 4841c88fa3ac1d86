import type { Static } from '@sinclair/typebox'
import type { ImportRequest } from '../../../schemas/import.ts'
import type { ImportOptions } from './build/card.ts'
import type { CheckInput, ImportInput } from './run-import.ts'
import type { SampleFile } from './sample-lines.ts'

const VERSION = '1.0.0'
const TARGET = 'default'

/** The body of an import request, without the registration. */
export type ImportBody = Omit<Static<typeof ImportRequest>, 'register'>

/** The same, with a sample that may be in a file. */
interface ImportOrder extends Omit<ImportBody, 'sample'> {
  readonly sample?: string | SampleFile
  readonly onRow?: () => void
}

/** Converts a request body to the input of an import; the command line has the same fields. */
export function makeImportInput(request: ImportOrder): ImportInput {
  const { card } = request
  return {
    card: Buffer.from(card),
    options: makeOptions(request),
    check: makeCheckInput(request),
  }
}

/** Converts `sample`, `score_column` and `tolerance` of a body; null without a sample. */
export function makeCheckInput({
  sample,
  score_column: scoreColumn,
  tolerance = 0,
  onRow,
}: Pick<ImportOrder, 'sample' | 'score_column' | 'tolerance' | 'onRow'>): CheckInput | null {
  if (sample === undefined) return null
  return {
    sample: typeof sample === 'string' ? Buffer.from(sample) : sample,
    tolerance,
    ...(onRow !== undefined && { onRow }),
    ...(scoreColumn !== undefined && { scoreColumn }),
  }
}

function makeOptions(request: ImportOrder): ImportOptions {
  const { name, version = VERSION, target = TARGET, scaling = {}, ...rest } = request
  return {
    name,
    version,
    target,
    scaling: known({
      pdo: scaling.pdo,
      baseScore: scaling.base_score,
      odds: scaling.odds === undefined ? undefined : String(scaling.odds),
      oddsDirection: scaling.odds_direction,
      rate: scaling.rate,
    }),
    ...known({
      tool: rest.tool,
      probabilities: rest.probabilities,
      riskGrades: rest.risk_grades,
      basePoints: rest.base_points,
      intercept: rest.intercept,
      unseen: rest.unseen,
      categorical: rest.categorical,
      commaCategories: rest.comma_categories,
      rename: rest.rename,
      hasNoSpecials: rest.has_no_specials,
      splits: rest.splits,
    }),
  }
}

type Known<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** Removes the fields that were left out. */
function known<Fields extends object>(fields: Fields): Known<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The names are those of `fields`, and no value is undefined.
  return Object.fromEntries(entries) as Known<Fields>
}
