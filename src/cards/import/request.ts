import type { Static } from '@sinclair/typebox'
import type { ImportRequest } from '../../schemas/import.ts'
import type { ImportOptions } from './build/card.ts'
import type { CheckInput, ImportInput } from './run-import.ts'

const VERSION = '1.0.0'
const TARGET = 'default'

/** The body of an import request, without the registration. */
export type ImportBody = Omit<Static<typeof ImportRequest>, 'register'>

/** Converts a request body to the input of an import; the command line has the same fields. */
export function importInputOf(request: ImportBody): ImportInput {
  const { card } = request
  return {
    card: Buffer.from(card),
    options: optionsOf(request),
    check: checkInputOf(request),
  }
}

/** Converts `sample`, `score_column` and `tolerance` of a body; null without a sample. */
export function checkInputOf({
  sample,
  score_column: scoreColumn,
  tolerance = 0,
}: Pick<ImportBody, 'sample' | 'score_column' | 'tolerance'>): CheckInput | null {
  if (sample === undefined) return null
  return {
    sample: Buffer.from(sample),
    tolerance,
    ...(scoreColumn !== undefined && { scoreColumn }),
  }
}

function optionsOf(request: ImportBody): ImportOptions {
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
