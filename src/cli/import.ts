import { readFile, writeFile } from 'node:fs/promises'
import { printable, sentence } from './admin/print.ts'
import { certificateFields, importFields } from './import/answers.ts'
import { type ImportLine, ImportUsageError, readImportLine } from './import/command-line.ts'
import { IMPORT_HELP } from './import/help.ts'
import { Notes } from './import/notes.ts'
import { carryOut, type ImportOutcome } from './import/order.ts'
import { RegisterError, registerAt } from './import/remote.ts'
import { importReport } from './import/report.ts'
import { type ImportBody, orderOf } from './import/request.ts'
import { decode, readJson } from './import/source.ts'

/** What a command line is to print, and the exit code of its process. */
export interface Printout {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

const DONE = 0
const REFUSED = 1
const WRONG_USAGE = 2
const FILE_BYTES_MAX = 256 * 1024 * 1024
const HELP = 'npm run import -- --help'

/** What stopped the command before there was an outcome. */
class RefusedError extends Error {}

/**
 * Carries out a command line of an import; whatever goes wrong is part of the printout.
 *
 * @param token of a user who may deploy, for `--register`
 */
export async function printoutOf(
  args: readonly string[],
  token: string | undefined,
): Promise<Printout> {
  try {
    const line = readImportLine(args)
    if (line === null) return { code: DONE, stdout: IMPORT_HELP, stderr: '' }
    return await carriedOut(line, token)
  } catch (error) {
    if (error instanceof ImportUsageError) {
      return { code: WRONG_USAGE, stdout: '', stderr: `${told(error)}\nSee: ${HELP}\n` }
    }
    if (error instanceof RefusedError || error instanceof RegisterError) {
      return { code: REFUSED, stdout: '', stderr: `${told(error)}\n` }
    }
    throw error
  }
}

function told({ message }: Error): string {
  return sentence(printable(message))
}

async function carriedOut(line: ImportLine, token: string | undefined): Promise<Printout> {
  if (line.register !== null && !token) {
    throw new RefusedError('SCORELINE_TOKEN must hold an access token, to register the model')
  }
  const body = await bodyOf(line)
  const outcome = carryOut(orderOf(body))
  const { certificate, spec } = outcome
  const isGood = spec !== null && outcome.parity?.agrees !== false
  if (line.certificate !== null && certificate !== null) {
    await write(line.certificate, jsonOf(certificateFields(certificate)))
  }
  const registered =
    isGood && line.register !== null ? await registerAt(line.register, token ?? '', body) : null
  if (isGood && line.out !== null) await write(line.out, jsonOf(spec))
  const code = isGood ? DONE : REFUSED
  if (line.isJson) {
    return { code, stdout: jsonOf(registered ?? importFields(outcome)), stderr: '' }
  }
  const stdout = isGood && line.out === null && line.register === null ? jsonOf(spec) : ''
  return { code, stdout, stderr: `${stderrOf(outcome, registered)}\n` }
}

function stderrOf(outcome: ImportOutcome, answer: unknown): string {
  const report = importReport(outcome)
  if (answer === null) return report
  return [report, 'Registered:', `  ${printable(registeredText(answer))}`].join('\n')
}

/** The ids of the answer, whatever else the service may say. */
function registeredText(answer: unknown): string {
  const { registered } = answer as {
    registered: { model_id: string; deployment: { endpoint: string } | null }
  }
  const { model_id: modelId, deployment } = registered
  return deployment === null ? modelId : `${modelId}, which scores at ${deployment.endpoint}`
}

async function bodyOf(line: ImportLine): Promise<ImportBody> {
  const card = await textOf(line.file)
  const sample = line.sampleFile === null ? null : await textOf(line.sampleFile)
  const splits = line.splitsFile === null ? undefined : await splitsOf(line.splitsFile)
  return {
    ...line.body,
    card,
    ...(sample !== null && { sample }),
    ...(splits !== undefined && { splits }),
  }
}

/** With its byte order mark, so that its hash is that of the file. */
async function textOf(file: string): Promise<string> {
  const bytes = await readBytes(file)
  const notes = new Notes()
  decode(bytes, notes)
  const [fault] = notes.faults.toArray()
  if (fault !== undefined) throw new RefusedError(`${file} ${fault.message}`)
  return bytes.toString('utf8')
}

async function splitsOf(file: string): Promise<unknown> {
  const notes = new Notes()
  const splits = readJson(await textOf(file), file, notes)
  const [fault] = notes.faults.toArray()
  if (fault !== undefined) throw new RefusedError(`${fault.path} ${fault.message}`)
  return splits
}

async function readBytes(file: string): Promise<Buffer> {
  const bytes = await readFile(file).catch((error: Error) => {
    throw new RefusedError(`${file} can't be read: ${error.message}`)
  })
  if (bytes.length > FILE_BYTES_MAX) {
    throw new RefusedError(`${file} is larger than ${FILE_BYTES_MAX} bytes`)
  }
  return bytes
}

async function write(file: string, text: string): Promise<void> {
  await writeFile(file, text).catch((error: Error) => {
    throw new RefusedError(`${file} can't be written: ${error.message}`)
  })
}

function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

async function main(): Promise<void> {
  const { code, stdout, stderr } = await printoutOf(
    process.argv.slice(2),
    process.env['SCORELINE_TOKEN'],
  )
  // Whoever reads the output may have had enough of it.
  process.stdout.on('error', () => {})
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  process.exitCode = code
}

if (import.meta.main) await main()
