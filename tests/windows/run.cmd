@echo off
rem tests\windows\run.cmd [DIRECTORY] - the table of hostile servers and the quoting, on a real Windows 10 or 11.
rem
rem On Linux, scripts/test-windows puts killick.exe, the test programs, the expected table and this file into one directory,
rem build-windows/on-windows: copy that directory to the Windows machine and start run.cmd there. No other
rem program is needed. The last line of each part is the TAP plan; a line that starts with "not ok" is a failed test. In the table,
rem the numbers are the processes that are left after each ending: owner child both stdin exit. Please send the
rem output, and that of `ver`, to the issues of the project.
setlocal
set "here=%~1"
if "%here%"=="" set "here=%~dp0"
if not exist "%here%\table.exe" set "here=%~dp0..\..\build-windows\on-windows"
if not exist "%here%\table.exe" (
	echo run.cmd: no table.exe beside run.cmd; copy build-windows/on-windows from the Linux machine that built it 1>&2
	exit /b 69
)
set bad=0
ver
"%here%\table.exe" "%here%\killick.exe" --expect "%here%\table.expect" --print || set bad=1
"%here%\quoting.exe" "%here%\killick.exe" || set bad=1
"%here%\loops.exe" "%here%\killick.exe" --rounds 100 --servers 20 || set bad=1
if %bad%==0 (echo all tests passed) else (echo SOME TESTS FAILED)
exit /b %bad%
