import {
  createTheme,
  localStorageColorSchemeManager,
  NativeSelect,
  SegmentedControl,
  TextInput,
} from '@mantine/core'

/** Light or dark, as the browser keeps it. */
export const colorSchemes = localStorageColorSchemeManager({ key: 'scoreline.theme' })

/** The colours are in `styles/tokens.css`. */
export const theme = createTheme({
  fontFamily: 'var(--mantine-font-family)',
  cursorType: 'pointer',
  components: {
    // Fields for who signs in say otherwise.
    TextInput: TextInput.extend({ defaultProps: { autoComplete: 'off' } }),
    NativeSelect: NativeSelect.extend({ defaultProps: { withAsterisk: false } }),
    // Its texts would be unreadable for a moment whenever light and dark change.
    SegmentedControl: SegmentedControl.extend({ defaultProps: { transitionDuration: 0 } }),
  },
})
