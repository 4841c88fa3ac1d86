import './styles/libraries.css'
import './styles/tokens.css'
import './styles/layout.css'
import './styles/parts.css'
import './styles/charts.css'
import './styles/pages.css'
import './styles/print.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { queries } from './api/state.ts'
import { App } from './layout/app.tsx'
import { colorSchemes, theme } from './theme.ts'

const place = document.getElementById('console')
if (place === null) throw new TypeError('the page has no place for the console')
createRoot(place).render(
  <MantineProvider
    theme={theme}
    defaultColorScheme="auto"
    colorSchemeManager={colorSchemes}
    // The policy of the page forbids styles in its text: the variables are in files instead.
    withCssVariables={false}
    withGlobalClasses={false}
  >
    <QueryClientProvider client={queries}>
      <App />
    </QueryClientProvider>
  </MantineProvider>,
)
