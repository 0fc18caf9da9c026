import { render } from 'preact';
import { applyStoredTheme } from '../design/shell/theme.ts';
import { Console } from './console.tsx';

applyStoredTheme();
const root = document.getElementById('page');
if (root !== null) render(<Console />, root);
