import { Command, Option } from 'commander'
import { COLUMN_CASES, EXPORT_FORMATS, SQL_DIALECTS } from '../../schemas/export.ts'
import { checkRequest, type ExportRequest } from '../cards/export/export-spec.ts'
import { AppError } from '../errors.ts'
import {
  ChoiceOption,
  NumberOption,
  RepeatableOption,
  readArguments,
  UsageError,
} from './arguments.ts'
import { EXIT_CODES } from './program.ts'

/** The export that the arguments describe. */
type CommandLine =
  | { readonly kind: 'help'; readonly text: string }
  | {
      readonly kind: 'export'
      /** A registered model, or the file of a spec, `-` for standard input. */
      readonly source: { readonly model: string } | { readonly spec: string }
      readonly request: ExportRequest
      /** The file to write; null is standard output. */
      readonly out: string | null
    }

/**
 * Declares the arguments of an export, with their help.
 *
 * @param call how the program is called, such as `scoreline export`
 */
export function exportProgram(call: string): Command {
  const program = new Command(call)
    .summary('writes a scorecard as a specification, PMML or SQL')
    .description(
      'Writes a scorecard for another system: the specification as it was sent, PMML 4.4, or a ' +
        'SQL statement that gives each row of a table exactly the score that the service gives. ' +
        'Either --model or --spec must be given.',
    )
  for (const [heading, options] of GROUPS) {
    for (const option of options) program.addOption(option.helpGroup(`${heading}:`))
  }
  return program.addHelpText(
    'after',
    [
      '',
      'The statement returns the keys, score, pd, risk_grade, and points_1 and so on in the order',
      'of the features. NULL is a missing value. NaN and infinite numbers give NULL for a score.',
      'If the model has has_pd false, each pd is NULL.',
      '',
      'Examples:',
      `  ${call} --model mod_… --format pmml --out card.pmml`,
      `  ${call} --spec card.json --format sql --dialect snowflake \\`,
      '    --table RISK.APPLICANTS --key ID --column-case upper --out score.sql',
      '',
      'npm prints lines of its own to standard output: npm run --silent, or --out, avoids them.',
      '',
      EXIT_CODES,
    ].join('\n'),
  )
}

const SOURCE = [
  new Option(
    '--model <MODEL_ID>',
    'a registered model of any team, in the database that the environment variables of the ' +
      'service name: the PostgreSQL of DATABASE_URL, or the embedded one under DATA_DIR while ' +
      'the service is stopped',
  ),
  new Option('--spec <FILE>', 'a specification in JSON, without a database; - is standard input'),
]
const RESULT = [
  new ChoiceOption('--format <FORMAT>', 'spec by default; one of', EXPORT_FORMATS),
  new Option('--out <FILE>', 'writes to this file instead of standard output'),
]
const SQL = [
  new ChoiceOption('--dialect <DIALECT>', 'required; one of', SQL_DIALECTS),
  new Option(
    '--table <TABLE>',
    'required; the table of the applicants, with a column named like each feature; dots separate ' +
      'catalog, schema and table',
  ),
  new RepeatableOption('--key <COLUMN>', 'copies this column to the result, to identify the rows'),
  new RepeatableOption(
    '--number-column <FEATURE>',
    'a categorical feature whose column holds numbers',
  ),
  new ChoiceOption(
    '--column-case <CASE>',
    'case of the column names, as_is by default; names are quoted, and Snowflake stores a name ' +
      'that was created without quotes in upper case; one of',
    COLUMN_CASES,
  ),
  new NumberOption(
    '--reasons <COUNT>',
    'columns with the codes of reasons, 4 where the card has reasons and baselines for them; 0 ' +
      'leaves them out; GET /v1/models/{id}/export can measure them against a baseline of scores',
  ),
]
const GROUPS: ReadonlyArray<readonly [string, readonly Option[]]> = [
  ['Which scorecard', SOURCE],
  ['What to write', RESULT],
  ['For --format sql', SQL],
]

/**
 * Reads the arguments of an export.
 *
 * @param call how the program is called
 * @throws UsageError
 */
export function readCommandLine(args: readonly string[], call: string): CommandLine {
  const request = readArguments(exportProgram(call), args)
  if (request.kind === 'help') return request
  // Each declaration fixes the type of its value.
  const value = <Value>(option: string) => request.values.get(option) as Value | undefined
  const help = `${call} --help`
  const model = value<string>('model')
  const spec = value<string>('spec')
  if ((model === undefined) === (spec === undefined)) {
    throw new UsageError('give either --model MODEL_ID or --spec FILE', help)
  }
  const wanted: ExportRequest = {
    format: value('format'),
    dialect: value('dialect'),
    table: value('table'),
    keys: value('key'),
    numberColumns: value('number-column'),
    columnCase: value('column-case'),
    reasons: value('reasons'),
  }
  try {
    checkRequest(wanted)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    throw new UsageError(`--${error.message.replace('_', '-')}`, help)
  }
  const source = model === undefined ? { spec: spec ?? '' } : { model }
  return { kind: 'export', source, request: wanted, out: value<string>('out') ?? null }
}
