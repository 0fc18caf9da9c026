import { render } from 'preact';
import { applyStoredTheme } from '../design/shell/theme.ts';
import { Docs } from './docs.tsx';

applyStoredTheme();
const root = document.getElementById('page');
if (root !== null) render(<Docs />, root);
