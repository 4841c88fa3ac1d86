import { html } from 'htm/preact'
import { apiFile } from './api.ts'
import { useAction } from './state.ts'
import { Failure } from './ui.ts'

/** Has the browser store a file. */
export function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

/** A button that stores what a path of the API returns. */
export function Download({ path, name, text }: { path: string; name: string; text: string }) {
  const action = useAction()
  const run = () => action.run(async () => save(await apiFile(path), name))
  return html`<button type="button" onClick=${run} aria-disabled=${action.isBusy} aria-busy=${action.isBusy}>${text}</button>
    ${action.error && html`<${Failure} error=${action.error} />`}`
}
