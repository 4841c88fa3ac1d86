import { html, render } from 'htm/preact'
import { App } from './app.ts'

const place = document.getElementById('console')
if (place === null) throw new TypeError('the page has no place for the console')
place.textContent = ''
render(html`<${App} />`, place)
