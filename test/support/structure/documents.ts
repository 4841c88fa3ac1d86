import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** The pages for readers, as paths from the root. */
export const PAGES: readonly string[] = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
]

export function readText(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8')
}

/** The page without its fenced blocks, which are not prose. */
export function formatProse(file: string): string {
  return readText(file).replace(/^```.*?^```/gms, '')
}

/** The fenced blocks of a language. */
export function listBlocks(text: string, language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms')
  return [...text.matchAll(fence)].map(([, block = '']) => block)
}

/** The part of a page below a heading, up to the next heading of its level or above. */
export function readSection(file: string, heading: string): string {
  const text = readText(file)
  // A comment in a block of shell looks like a heading.
  const plain = text.replace(/^```.*?^```/gms, (block) => block.replaceAll('#', ' '))
  const found = new RegExp(`^(#+) ${heading}$`, 'm').exec(plain)
  if (found === null) throw new Error(`${file} has no heading ${heading}`)
  const [line, marks = ''] = found
  const start = found.index + line.length
  const end = plain.slice(start).search(new RegExp(`^#{1,${marks.length}} `, 'm'))
  return text.slice(start, end === -1 ? undefined : start + end)
}

/** The cells of each row of the tables in a text, without heads. */
export function queryRows(text: string): string[][] {
  const tables = text.matchAll(/^\|.*\|\n\|[-| :]+\|\n((?:\|.*\|\n)*)/gm)
  return [...tables].flatMap(([, rows = '']) =>
    rows
      .trim()
      .split('\n')
      .map((row) => row.slice(1, -1).split('|'))
      .map((cells) => cells.map((cell) => cell.trim())),
  )
}

/** What stands between backticks in a text. */
export function codeIn(text: string): string[] {
  return [...text.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)
}

/** Anchors of the headings of a page, as GitHub makes them. */
export function readAnchors(file: string): string[] {
  return [...formatProse(file).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

/** A link or picture within the repository. */
interface Link {
  readonly page: string
  readonly target: string
  /** Path from the root. */
  readonly path: string
  readonly anchor: string | null
}

export function readLinks(page: string): Link[] {
  return [...formatProse(page).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^https?:/.test(target))
    .map((target) => {
      const [file = '', anchor = null] = target.split('#')
      return { page, target, path: file && normalize(join(dirname(page), file)), anchor }
    })
    .map((link) => ({ ...link, path: link.path || page }))
}

/** A command that a page shows, in words as a shell would hand them over. */
export interface Command {
  readonly page: string
  readonly line: string
  readonly words: readonly string[]
}

/** Every call of npm, npx and node that a page shows, in blocks and in sentences. */
export function readCommands(page: string): Command[] {
  const lines = [
    ...listBlocks(readText(page), 'sh').flatMap((block) =>
      block.replaceAll('\\\n', ' ').split('\n'),
    ),
    ...codeIn(formatProse(page)),
  ]
  return lines
    .filter((line) => /^(?:\w+=\S* )*(?:npm|npx|node) /.test(line))
    .flatMap((line) => line.split('&&'))
    .map((line) => ({ page, line: line.trim(), words: readWords(line) }))
}

/** Words up to the first redirection, pipe or comment, without variables before the program. */
function readWords(line: string): string[] {
  const words = [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain ?? '',
  )
  const start = words.findIndex((word) => !/^\w+=/.test(word))
  const end = words.findIndex((word, index) => index > start && /^[<>|#]/.test(word))
  return words.slice(start, end === -1 ? undefined : end)
}
