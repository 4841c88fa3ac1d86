import { parseArgs } from 'node:util'
import { COLUMN_CASES, EXPORT_FORMATS, SQL_DIALECTS } from '../../schemas/export.ts'
import { AppError } from '../errors.ts'
import { checkRequest, type ExportRequest } from './service.ts'

/** What a command line asks for. */
export type CommandLine =
  | { readonly kind: 'help' }
  | {
      readonly kind: 'export'
      /** A registered model, or the file of a spec, `-` for standard input. */
      readonly source: { readonly model: string } | { readonly spec: string }
      readonly request: ExportRequest
      /** The file to write; null is standard output. */
      readonly out: string | null
    }

/** The command line says something else than an export. */
export class ExportUsageError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ExportUsageError'
  }
}

export const HELP = `Usage: npm run export -- --model MODEL_ID | --spec FILE [--format FORMAT] [OPTIONS]

Writes a scorecard for another system: the spec as it was sent, PMML 4.4, or a SQL statement that
scores each row of a table with the very numbers of the service.

Which scorecard:
  --model MODEL_ID        a registered model of any team, in the database that the environment
                          variables of the service name: the PostgreSQL of DATABASE_URL, or the
                          embedded one under DATA_DIR while the service is stopped
  --spec FILE             a specification in JSON, without any database; - is standard input

What to write:
  --format FORMAT         ${EXPORT_FORMATS.join(', ')}; spec when left out
  --out FILE              writes there instead of to standard output

For --format sql:
  --dialect DIALECT       required: ${SQL_DIALECTS.join(', ')}
  --table TABLE           required: the table with the applicants, a column for each feature that is
                          called like it; parts between dots are schema and catalog
  --key COLUMN            carries this column into the answer, to tell rows apart; can be repeated
  --number-column FEATURE a categorical feature whose column holds numbers; can be repeated
  --column-case CASE      writes columns in ${COLUMN_CASES.join(', ')}; as_is when left out. Names are
                          quoted: Snowflake keeps in upper case what was made without quotes

The statement answers the keys, score, pd, risk_grade, and points_1 and so on in the order of the
features. NULL is a missing value; NaN and infinite numbers give NULL for a score.

  npm run --silent export -- --model mod_… --format pmml > card.pmml
  npm run export -- --spec card.json --format sql --dialect snowflake --table RISK.APPLICANTS \\
    --key ID --column-case upper --out score.sql

npm prints lines of its own to standard output: --silent keeps them out, and --out too.

Exit code: 0 done; 1 refused or failed, with the reasons on standard error; 2 wrong usage.
`

const OPTIONS = {
  model: { type: 'string' },
  spec: { type: 'string' },
  format: { type: 'string' },
  dialect: { type: 'string' },
  table: { type: 'string' },
  key: { type: 'string', multiple: true },
  'number-column': { type: 'string', multiple: true },
  'column-case': { type: 'string' },
  out: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
} as const

/** @throws ExportUsageError */
export function readCommandLine(args: readonly string[]): CommandLine {
  const values = parse(args)
  if (values.help === true) return { kind: 'help' }
  const { model, spec } = values
  if ((model === undefined) === (spec === undefined)) {
    throw new ExportUsageError('give either --model MODEL_ID or --spec FILE')
  }
  const request = {
    format: oneOf('format', values.format, EXPORT_FORMATS),
    dialect: oneOf('dialect', values.dialect, SQL_DIALECTS),
    table: values.table,
    keys: values.key,
    numberColumns: values['number-column'],
    columnCase: oneOf('column-case', values['column-case'], COLUMN_CASES),
  }
  try {
    checkRequest(request)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new ExportUsageError(`--${error.message.replace('_', '-')}`)
  }
  const source = model === undefined ? { spec: spec ?? '' } : { model }
  return { kind: 'export', source, request, out: values.out ?? null }
}

function parse(args: readonly string[]) {
  try {
    const { values, tokens } = parseArgs({ args: [...args], options: OPTIONS, tokens: true })
    const names = tokens.flatMap((token) => (token.kind === 'option' ? [token.name] : []))
    const twice = names.find(
      (name, index) => names.indexOf(name) < index && name !== 'key' && name !== 'number-column',
    )
    if (twice !== undefined) throw new ExportUsageError(`--${twice} is given more than once`)
    return values
  } catch (error) {
    if (!(error instanceof TypeError && 'code' in error)) throw error
    throw new ExportUsageError(error.message.replaceAll('\n', ' '))
  }
}

function oneOf<Value extends string>(
  option: string,
  given: string | undefined,
  values: readonly Value[],
): Value | undefined {
  const value = values.find((known) => known === given)
  if (given !== undefined && value === undefined) {
    throw new ExportUsageError(`--${option} must be one of ${values.join(', ')}`)
  }
  return value
}
