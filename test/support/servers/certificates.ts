import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a server may present. */
export const CERTIFICATES = ['right', 'wrong-name', 'expired', 'address'] as const
export type CertificateName = (typeof CERTIFICATES)[number]

/** An authority of its own with certificates for a server on `localhost`, made with openssl. */
export class Certificates {
  readonly directory = mkdtempSync(join(tmpdir(), 'scoreline-tls-'))

  constructor() {
    const authority = ['-x509', '-subj', '/CN=authority of a test', '-days', '2']
    this.openssl('req', ...authority, ...NEW_KEY, '-keyout', 'ca.key', '-out', 'ca.pem')
    this.issue('right', 'DNS:localhost', 2)
    this.issue('wrong-name', 'DNS:elsewhere.example', 2)
    this.issue('address', 'IP:127.0.0.1', 2)
    // It ended a day before it began.
    this.issue('expired', 'DNS:localhost', -1)
  }

  get authority(): string {
    return join(this.directory, 'ca.pem')
  }

  certificate(name: CertificateName): string {
    return join(this.directory, `${name}.pem`)
  }

  key(name: CertificateName): string {
    return join(this.directory, `${name}.key`)
  }

  remove(): void {
    rmSync(this.directory, { recursive: true, force: true })
  }

  private issue(name: CertificateName, of: string, days: number): void {
    writeFileSync(join(this.directory, `${name}.ext`), `subjectAltName=${of}`)
    const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`]
    this.openssl('req', '-subj', `/CN=${name}`, ...NEW_KEY, ...request)
    const by = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-extfile', `${name}.ext`]
    const made = ['-in', `${name}.csr`, '-out', `${name}.pem`, '-days', `${days}`]
    this.openssl('x509', '-req', ...by, ...made)
  }

  private openssl(...args: readonly string[]): void {
    execFileSync('openssl', args, { cwd: this.directory, stdio: 'pipe' })
  }
}

const NEW_KEY = ['-newkey', 'rsa:2048', '-nodes']
