import type { FaultDetail } from '../../api/errors.ts'
import { counted } from '../../ui/figures.ts'
import { Notice } from '../../ui/states.tsx'
import type { JsonLines } from './json-lines.ts'

export interface SpecFile {
  readonly name: string
  readonly text: string
  readonly lines: JsonLines
}

export interface LineFault extends FaultDetail {
  readonly line: number
}

const LINES_AROUND = 2
const FAULTS_MAX = 100
const LINE_CHARS_MAX = 400

/** Each fault with its line and the lines around it; a file of one line is shown once. */
export function Faults({ file, faults }: { file: SpecFile; faults: readonly LineFault[] }) {
  const lines = file.text.split('\n')
  const shown = faults.slice(0, FAULTS_MAX)
  return (
    <section>
      <Notice kind="watch">
        <strong>
          <bdi>{file.name}</bdi> has {counted(faults.length, 'fault')}; nothing was registered.
        </strong>{' '}
        Correct the file, then choose it again.
      </Notice>
      <ol className="faults">
        {shown.map((fault, at) => (
          <li key={`${fault.line} ${fault.path} ${fault.message}`}>
            <p>
              <strong>Line {fault.line}</strong>
              {fault.path && (
                <>
                  {' '}
                  <code>{fault.path}</code>
                </>
              )}
              : {fault.message}
            </p>
            {(lines.length > 1 || at === 0) && <Around lines={lines} line={fault.line} />}
          </li>
        ))}
      </ol>
      {faults.length > shown.length && <p>… and {faults.length - shown.length} more.</p>}
    </section>
  )
}

function Around({ lines, line }: { lines: readonly string[]; line: number }) {
  const first = Math.max(0, line - 1 - LINES_AROUND)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region needs the keyboard
    <section className="scroll" tabIndex={0} aria-label={`Lines around ${line}`}>
      <pre>
        {lines.slice(first, line + LINES_AROUND).map((text, at) => {
          const number = first + at + 1
          return (
            <span key={number} className={number === line ? 'code-line marked' : 'code-line'}>
              <span className="line-number">{number}</span>
              {text.slice(0, LINE_CHARS_MAX)}
              {'\n'}
            </span>
          )
        })}
      </pre>
    </section>
  )
}
