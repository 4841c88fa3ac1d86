import { writeFileSync } from 'node:fs'
import { Command, Option } from 'commander'
import { readArguments, UsageError, urlOption } from './arguments.ts'
import { printable } from './print.ts'
import { type CommandContext, DONE, EXIT_CODES, failureReport, type Report } from './program.ts'
import { RemoteError, RemoteService } from './remote-service.ts'
/** The part of `GET /v1/score/{slug}/schema` that becomes a type. */
export interface ApplicantSchema {
  readonly title: string
  readonly description: string
  readonly properties: Readonly<Record<string, FeatureSchema>>
  readonly required: readonly string[]
}

interface FeatureSchema {
  readonly type: string | readonly string[]
  readonly description?: string
  readonly examples?: readonly unknown[]
}

/** Examples in the comment of a feature, of the many that a schema has. */
const EXAMPLES_MAX = 8
const TYPES = ['string', 'number', 'null']
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/

/** Writes the type of the applicants of a deployment. */
export async function run(args: readonly string[], { call, env }: CommandContext): Promise<Report> {
  try {
    const request = readArguments(typesProgram(call), args)
    if (request.kind === 'help') return { code: DONE, stdout: request.text, stderr: '' }
    const token = env['SCORELINE_TOKEN']
    if (!token) {
      throw new RemoteError('SCORELINE_TOKEN must hold an API key, or an access token')
    }
    const value = (name: string) => request.values.get(name) as string | undefined
    const service = new RemoteService(value('url') ?? '', token)
    const slug = encodeURIComponent(value('SLUG') ?? '')
    const response = await service.send(`/v1/score/${slug}/schema`)
    const text = applicantType((await response.json()) as ApplicantSchema)
    const out = value('out')
    if (out === undefined) return { code: DONE, stdout: text, stderr: '' }
    write(out, text)
    return { code: DONE, stdout: '', stderr: '' }
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof RemoteError)) throw error
    return failureReport(error)
  }
}

/**
 * Declares the arguments, with their help.
 *
 * @param call how the program is called, such as `scoreline types`
 */
export function typesProgram(call: string): Command {
  return new Command(call)
    .summary('writes the type of the applicants of a deployment in TypeScript')
    .description(
      'Asks a running service which features a deployment wants, and writes them as a TypeScript ' +
        'interface: a program that sends an old or misspelt feature does not compile. ' +
        'SCORELINE_TOKEN holds an API key of the environment, or an access token.',
    )
    .argument('SLUG', 'slug of the deployment')
    .addOption(urlOption())
    .addOption(new Option('--out <FILE>', 'writes to this file instead of standard output'))
    .addHelpText(
      'after',
      [
        '',
        'Example:',
        `  ${call} dep_… --url https://scoring.example --out applicant.ts`,
        '',
        EXIT_CODES,
      ].join('\n'),
    )
}

/**
 * Writes the interface `Applicant` with a field for each feature.
 *
 * A feature without which a score gets a warning, or a refusal in strict mode, must be there; a
 * missing value is null. Other features, such as those of a shadow challenger, are optional.
 */
export function applicantType({
  title,
  description,
  properties,
  required,
}: ApplicantSchema): string {
  const fields = Object.entries(properties)
    .filter(([name]) => name !== 'strict_mode')
    .map(([name, feature]) => fieldLines(name, feature, required.includes(name)))
  const head = [`${title}: ${description}.`, 'Made by `scoreline types`.']
  return `${comment(head, '')}\nexport interface Applicant {\n${fields.join('\n')}\n}\n`
}

function fieldLines(name: string, feature: FeatureSchema, isRequired: boolean): string {
  const { type, description, examples = [] } = feature
  const shown = examples.slice(0, EXAMPLES_MAX).map((example) => JSON.stringify(example))
  const more = examples.length > EXAMPLES_MAX ? ', …' : ''
  const notes = [
    ...(description === undefined ? [] : [description]),
    ...(shown.length === 0 ? [] : [`Known: ${shown.join(', ')}${more}`]),
  ]
  const key = IDENTIFIER.test(name) ? name : JSON.stringify(name)
  const field = `  ${key}${isRequired ? '' : '?'}: ${TYPES.filter((one) => type.includes(one)).join(' | ')}`
  return notes.length === 0 ? field : `${comment(notes, '  ')}\n${field}`
}

/** People choose names and labels: none ends the comment. */
function comment(lines: readonly string[], indent: string): string {
  const texts = lines.map((line) => printable(line).replaceAll('*/', '*\\/'))
  const [only = ''] = texts
  if (texts.length === 1) return `${indent}/** ${only} */`
  return [`${indent}/**`, ...texts.map((text) => `${indent} * ${text}`), `${indent} */`].join('\n')
}

/** @throws RemoteError naming the file */
function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (cause) {
    throw new RemoteError(`${file} can't be written: ${(cause as Error).message}`, { cause })
  }
}
