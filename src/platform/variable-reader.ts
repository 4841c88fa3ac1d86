import { readFileSync, statSync } from 'node:fs'

export type Environment = Readonly<Record<string, string | undefined>>

/** Variables that hold a secret; each may be in a file instead. */
const SECRETS = [
  ...(['DATABASE_URL', 'REDIS_URL', 'JWT_SECRET', 'BOOTSTRAP_OWNER_PASSWORD'] as const),
  'OIDC_CLIENT_SECRET',
  'OTEL_EXPORTER_OTLP_HEADERS',
] as const
type SecretName = (typeof SECRETS)[number]
const SECRET_FILE_BYTES_MAX = 64 * 1024

function isSecret(name: string): name is SecretName {
  return SECRETS.some((secret) => secret === name)
}

/** @throws Error for a file that can't be read or is too long to be a secret */
export function readSecretFile(path: string): string {
  if (statSync(path).size > SECRET_FILE_BYTES_MAX) throw new RangeError('the file is too long')
  return readFileSync(path, 'utf8')
}

/** Reads variables of the environment, and gathers what is wrong with them. */
export class VariableReader {
  readonly faults: string[] = []
  /** Names that were looked for. */
  readonly asked = new Set<string>()
  private readonly env: Environment
  private readonly readFile: (path: string) => string

  constructor(env: Environment, readFile: (path: string) => string) {
    this.env = env
    this.readFile = readFile
  }

  /** A text that may be in a file. One line break at the end of the file is left out. */
  secret(name: SecretName): string | null {
    const path = this.text(`${name}_FILE`)
    if (path === null) return this.text(name)
    if (this.text(name) !== null) {
      this.faults.push(`${name} and ${name}_FILE are both set: remove one of them`)
      return null
    }
    try {
      const text = this.readFile(path).replace(/\r?\n$/, '')
      if (text !== '') return text
      this.faults.push(`${name}_FILE must name a file that is not empty`)
    } catch {
      const bound = `at most ${SECRET_FILE_BYTES_MAX} bytes`
      this.faults.push(`${name}_FILE must name a file that the service can read, of ${bound}`)
    }
    return null
  }

  text(name: string): string | null {
    this.asked.add(name)
    const value = this.env[name]
    return value === undefined || value === '' ? null : value
  }

  integer<Otherwise>(
    name: string,
    otherwise: Otherwise,
    least: number,
    most: number,
  ): number | Otherwise {
    const text = this.text(name)
    if (text === null) return otherwise
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    this.faults.push(`${name} must be a whole number from ${least} to ${most}`)
    return otherwise
  }

  url(name: string, protocols: readonly string[]): string | null {
    return this.checked(name, (text) => {
      const parsed = URL.parse(text)
      const isBase = parsed !== null && `${parsed.username}${parsed.search}${parsed.hash}` === ''
      if (isBase && protocols.includes(parsed.protocol)) return null
      return `must be a URL that starts with ${protocols.join('// or ')}//, without user and query`
    })
  }

  /** @param findFault what is wrong with a text, to be read after the name; null: nothing */
  checked(name: string, findFault: (text: string) => string | null): string | null {
    const text = isSecret(name) ? this.secret(name) : this.text(name)
    const fault = text === null ? null : findFault(text)
    if (fault === null) return text
    this.faults.push(`${name} ${fault}`)
    return null
  }
}
