import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { ServiceProcess } from '../../support/start/process.ts'

/** Also of a service that runs already, where `--url` names one. */
const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }
const GENERATOR = 'org.openapitools:openapi-generator-cli:7.25.0:jar'
const OAPI_CODEGEN = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
const HERE = import.meta.dirname
const STEP_TIMEOUT_MS = 30 * 60_000

/** What every program must print: 480 base points and 0.1 + 0.2 for an age above 25, to the bit. */
const EXPECTED = [
  ...[`score=${480 + (0.1 + 0.2)}`, 'warning=no_bin_match purpose', 'batch=472', 'bins=3'],
  ...['sql=true', 'total=2'],
]

interface Client {
  readonly name: string
  /** Arguments of openapi-generator; or makes the client with another generator. */
  readonly generator: readonly string[] | ((dir: string, url: string) => Promise<unknown>)
  /** What the generator reads, where that is not the document in 3.1. */
  readonly document?: '/openapi-3.0.json'
  /**
   * Compiles the client and its program, and leads to the command that runs it; null: none of both.
   */
  readonly build: ((dir: string) => Promise<readonly string[]>) | null
}

/** @throws Error with what the command printed, when it fails */
async function run(dir: string, [file = '', ...args]: readonly string[], env = {}) {
  const options = { cwd: dir, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 }
  return promisify(execFile)(file, args, { ...options, timeout: STEP_TIMEOUT_MS })
}

const java = (library: string): Client => ({
  name: `java ${library}`,
  // Otherwise okhttp-gson refuses an answer with a field that is newer than the client, and lists
  // that nobody set are sent as empty ones, which the service refuses.
  generator: [
    ...['-g', 'java', '--library', library],
    '--additional-properties=disallowAdditionalPropertiesIfNotPresent=false,containerDefaultToNull=true',
  ],
  build: async (dir) => {
    const copy = ['dependency:copy-dependencies', '-DoutputDirectory=lib']
    await run(dir, ['mvn', '-q', '-B', 'compile', ...copy])
    // Beside the client's own build, which is for Java 8.
    const sources = [
      join(HERE, 'java/Program.java'),
      join(HERE, 'java', library, 'Connection.java'),
    ]
    await run(dir, ['javac', '-cp', 'target/classes:lib/*', '-d', 'target/classes', ...sources])
    return ['java', '-cp', 'target/classes:lib/*', 'Program']
  },
})

const CLIENTS: readonly Client[] = [
  java('okhttp-gson'),
  java('native'),
  { ...java('native'), name: 'java native of 3.0', document: '/openapi-3.0.json' },
  {
    name: 'typescript-axios',
    generator: ['-g', 'typescript-axios'],
    build: async (dir) => {
      await cp(join(HERE, 'typescript-axios'), dir, { recursive: true })
      await run(dir, ['npm', 'install', '--no-audit', '--no-fund', '--silent'])
      const strict = ['--strict', '--skipLibCheck', '--target', 'es2022', '--types', 'node']
      const form = ['--module', 'commonjs', '--moduleResolution', 'node10', '--outDir', 'out']
      await run(dir, ['node_modules/.bin/tsc', ...strict, ...form, 'program.ts'])
      return ['node', 'out/program.js']
    },
  },
  {
    name: 'python',
    generator: ['-g', 'python'],
    build: async (dir) => {
      await cp(join(HERE, 'python/program.py'), join(dir, 'program.py'))
      await run(dir, ['python3', '-m', 'venv', 'env'])
      await run(dir, ['env/bin/pip', 'install', '-q', '.'])
      return ['env/bin/python', 'program.py']
    },
  },
  {
    name: 'go',
    generator: [
      ...['-g', 'go', '--git-host', 'scoreline.example', '--git-user-id', 'local'],
      ...['--git-repo-id', 'client', '--additional-properties=packageName=client'],
    ],
    build: async (dir) => {
      await mkdir(join(dir, 'program'))
      await cp(join(HERE, 'go/main.go'), join(dir, 'program/main.go'))
      await run(dir, ['go', 'build', '-o', 'main', './program'])
      return ['./main']
    },
  },
  {
    // It refuses OpenAPI 3.1.
    name: 'go oapi-codegen',
    generator: async (dir, url) => {
      await saveDocument(`${url}/openapi-3.0.json`, join(dir, 'openapi.json'))
      await run(dir, ['go', 'mod', 'init', 'scoreline.example/local/client'])
      await mkdir(join(dir, 'api'))
      const parts = ['-generate', 'types,client', '-package', 'api', '-o', 'api/api.go']
      await run(dir, ['go', 'run', OAPI_CODEGEN, ...parts, 'openapi.json'])
    },
    build: async (dir) => {
      await cp(join(HERE, 'oapi-codegen'), join(dir, 'program'), { recursive: true })
      await run(dir, ['go', 'mod', 'tidy'])
      await run(dir, ['go', 'build', '-o', 'main', './program'])
      return ['./main']
    },
  },
  // Compiled by nobody here: there is no .NET where the tests run.
  { name: 'csharp', generator: ['-g', 'csharp'], build: null },
]

/** Runs one client, and tells how far it came. */
async function tried(client: Client, jar: string, url: string, dir: string): Promise<string[]> {
  const row = [client.name]
  try {
    row.push(await made(client, jar, url, dir))
    const program = await client.build?.(dir)
    if (program === undefined) return [...row, 'not compiled', '']
    row.push('compiles')
    const env = { BASE_URL: url, EMAIL: OWNER.email, PASSWORD: OWNER.password }
    const lines = (await run(dir, program, env)).stdout.trim().split(/\r?\n/)
    const wrong = EXPECTED.filter((line) => !lines.includes(line))
    return [...row, wrong.length === 0 ? 'right' : `WRONG: ${lines.join(', ')}`]
  } catch (failure) {
    const { stdout = '', stderr = '', message } = failure as Record<string, string>
    await writeFile(`${dir}.log`, `${message}\n${stdout}\n${stderr}`)
    return [...row, `FAILS: see ${dir}.log`]
  }
}

/** @returns how many types the client has, where its generator tells */
async function made(client: Client, jar: string, url: string, dir: string): Promise<string> {
  const { generator, document = '/openapi.json' } = client
  if (typeof generator === 'function') {
    await generator(dir, url)
    return 'made'
  }
  const make = ['java', '-jar', jar, 'generate', '-i', `${url}${document}`, '-o', dir]
  await run(dir, [...make, ...generator])
  return String(await modelsIn(dir))
}

async function saveDocument(url: string, file: string): Promise<void> {
  await writeFile(file, await (await fetch(url)).text())
}

/** Types that the generator made, as it lists them itself. */
async function modelsIn(dir: string): Promise<number> {
  const files = await readFile(join(dir, '.openapi-generator/FILES'), 'utf8')
  const docs = files.match(/^docs\/(?!\w*api\.md).*\.md$/gim) ?? []
  return docs.length
}

function tableOf(rows: readonly (readonly string[])[]): string {
  const all = [['client', 'types', 'compiles', 'runs'], ...rows]
  return all.map((row) => row.map((cell) => cell.padEnd(18)).join('')).join('\n')
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { url: { type: 'string' } },
})
const [folder, ...names] = positionals
if (folder === undefined) throw new Error('usage: node test/peers/clients/run.ts FOLDER [CLIENT…]')
const work = resolve(folder)
await mkdir(work, { recursive: true })
const copy = ['dependency:copy', `-Dartifact=${GENERATOR}`, `-DoutputDirectory=${work}`]
const wanted = CLIENTS.filter(({ name }) => names.length === 0 || names.includes(name))
if (wanted.some(({ generator }) => typeof generator !== 'function')) {
  await run(work, ['mvn', '-q', '-B', ...copy])
}
await rm(join(work, 'service-data'), { recursive: true, force: true })
const jar = (await readdir(work)).find((file) => file.endsWith('.jar')) ?? ''
const service =
  values.url === undefined
    ? ServiceProcess.start({
        DATA_DIR: join(work, 'service-data'),
        BOOTSTRAP_OWNER_EMAIL: OWNER.email,
        BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
      })
    : null
const rows: string[][] = []
try {
  const url = values.url ?? (await service?.url()) ?? ''
  for (const client of wanted) {
    const dir = join(work, client.name.replaceAll(' ', '-'))
    await rm(dir, { recursive: true, force: true })
    await mkdir(dir)
    // Each has a deployment of its own, so that its stats hold nothing of the others.
    const row = await tried(client, join(work, jar), url, dir)
    rows.push(row)
    process.stdout.write(`${row.join(' | ')}\n`)
  }
} finally {
  await service?.stop()
}
const isRight = rows.every((row) => row.at(-1) === 'right' || row.includes('not compiled'))
process.stdout.write(`\n${tableOf(rows)}\n`)
if (!isRight) process.exitCode = 1
