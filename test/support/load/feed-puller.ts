import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

/** What a puller keeps of a page: the position and what it did with the page in one line. */
export interface KeptPage {
  readonly next: string
  /** Request and index of each applicant. */
  readonly scores: readonly string[]
}

/** The pages that a puller has kept; a kill can cut off the last line. */
export function keptPages(file: string): KeptPage[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const whole = text.slice(0, text.lastIndexOf('\n') + 1)
  return whole.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
}

/** Follows the log until it is killed, as a warehouse would. Says when nothing is newer. */
async function follow(url: string, token: string, file: string): Promise<never> {
  const pages = keptPages(file)
  writeFileSync(file, pages.map((page) => `${JSON.stringify(page)}\n`).join(''))
  let after = pages.at(-1)?.next ?? '0'
  for (;;) {
    const page = await pull(url, token, after)
    if (page === null || page.next === after) {
      process.stdout.write(page === null ? 'away\n' : 'nothing newer\n')
      await setTimeout(20)
      continue
    }
    appendFileSync(file, `${JSON.stringify(page)}\n`)
    after = page.next
  }
}

/** @returns null while the service is away */
async function pull(url: string, token: string, after: string): Promise<KeptPage | null> {
  const headers = { authorization: `Bearer ${token}` }
  try {
    const response = await fetch(`${url}/v1/log/export?after=${after}&limit=97`, { headers })
    const text = await response.text()
    if (response.status === 503) return null
    if (response.status !== 200) throw new SyntaxError(`${response.status} ${text}`)
    const rows = text.split('\n').flatMap((line) => (line === '' ? [] : JSON.parse(line)))
    const scores = rows.map(({ request_id, record_index }) => `${request_id} ${record_index}`)
    return { next: response.headers.get('x-next-position') ?? '', scores }
  } catch (error) {
    if (error instanceof SyntaxError) throw error
    return null
  }
}

if (import.meta.main) {
  const [url = '', token = '', file = ''] = process.argv.slice(2)
  await follow(url, token, file)
}
