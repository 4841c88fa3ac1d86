import type { Static } from '@sinclair/typebox'
import type { ImportRequest } from '../../schemas/import.ts'
import type { ImportOptions } from './card.ts'
import type { ImportOrder } from './order.ts'

const VERSION = '1.0.0'
const TARGET = 'default'

/** What an import is asked for, registering apart. */
export type ImportBody = Omit<Static<typeof ImportRequest>, 'register'>

/** An order in the words of the API, which are those of the command line too. */
export function orderOf(request: ImportBody): ImportOrder {
  const { card, sample, score_column: scoreColumn, tolerance = 0 } = request
  return {
    card: Buffer.from(card),
    options: optionsOf(request),
    check:
      sample === undefined
        ? null
        : {
            sample: Buffer.from(sample),
            tolerance,
            ...(scoreColumn !== undefined && { scoreColumn }),
          },
  }
}

function optionsOf(request: ImportBody): ImportOptions {
  const { name, version = VERSION, target = TARGET, scaling = {}, ...rest } = request
  return {
    ...{ name, version, target },
    scaling: known({
      pdo: scaling.pdo,
      baseScore: scaling.base_score,
      odds: scaling.odds === undefined ? undefined : String(scaling.odds),
      oddsDirection: scaling.odds_direction,
      rate: scaling.rate,
    }),
    ...known({
      tool: rest.tool,
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

/** Without what was left out. */
function known<Fields extends object>(fields: Fields): Known<Fields> {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  // The names are those of `fields`, and undefined is taken out.
  return Object.fromEntries(entries) as Known<Fields>
}
