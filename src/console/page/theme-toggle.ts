import { html } from 'htm/preact'
import { useState } from 'preact/hooks'

const THEMES = {
  system: 'Theme: system',
  light: 'Theme: light',
  dark: 'Theme: dark',
} as const
type Theme = keyof typeof THEMES

/** Light, dark or the setting of the system; stored in this browser. */
export function ThemeToggle() {
  const [theme, setTheme] = useState<Theme>(chosenTheme)
  const choose = (event: Event) => {
    const next = (event.currentTarget as HTMLSelectElement).value as Theme
    const { dataset } = document.documentElement
    if (next === 'system') {
      delete dataset['theme']
      localStorage.removeItem('scoreline.theme')
    } else {
      dataset['theme'] = next
      localStorage.setItem('scoreline.theme', next)
    }
    setTheme(next)
    dispatchEvent(new Event('themechange'))
  }
  return html`<select class="theme" aria-label="Theme" value=${theme} onChange=${choose}>
    ${Object.entries(THEMES).map(([value, name]) => html`<option value=${value}>${name}</option>`)}
  </select>`
}

function chosenTheme(): Theme {
  const theme = document.documentElement.dataset['theme']
  return theme === 'dark' || theme === 'light' ? theme : 'system'
}
